//===- fake_internal.h - what the files of the fake driver share -------------===//
#pragma once

#include "runtime/cuda/Driver.h"

#include <functional>

namespace ptc::test::fake {

using namespace ptc::runtime::cuda;

constexpr CUresult kInvalidValue = 1, kInvalidPtx = 218, kNotFound = 500, kLaunchFailed = 719;

/// What a function answers before it begins: a failure that a test has asked for, or that there is no context.
CUresult begin(const char *function, bool needsContext = true);

/// Gives work to a stream, behind all work of the default stream; to that behind all work.
CUresult enqueue(CUstream stream, std::function<CUresult()> work);
/// Does what the stream has been given until `isDone`, or all of it; answers what has failed, and forgets it.
CUresult drain(CUstream stream, const std::function<bool()> &isDone);
/// Does what all streams have been given.
void drainAll();

/// Memory that is there at once, and full of NaNs; freeing waits for nothing.
CUresult allocate(CUdeviceptr *address, size_t bytes);
CUresult release(CUdeviceptr address);

/// This library once more, by dlopen with RTLD_LOCAL or RTLD_GLOBAL.
void *openSelf(int flags);

/// Contexts, streams, ...: for fake_live_objects.
void countObjects(int64_t more);
void countWait();

} // namespace ptc::test::fake

#define BEGIN(NAME, ...)                                                                                               \
  if (CUresult result = ptc::test::fake::begin(#NAME, ##__VA_ARGS__))                                                  \
    return result;
