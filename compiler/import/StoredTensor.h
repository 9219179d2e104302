//===- StoredTensor.h - where the elements of a stored tensor lie -----------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ptc::import {

/// Elements from the first to the last that the tensor reaches, and how many it
/// has; nullopt on overflow.
struct Extent {
  int64_t count = 1, reach = 1;
};
std::optional<Extent> measure(const StoredTensor &stored);

bool isRowMajor(const StoredTensor &stored);

/// Calls `visit` with the place of each of `count` elements behind the first one, the last dimension innermost.
void forEachElement(const StoredTensor &stored, int64_t count, llvm::function_ref<void(int64_t place)> visit);

/// Of its storage, up to the last element; 0 where its sizes are impossible.
uint64_t bytesReached(const StoredTensor &stored);

/// How many elements behind the first of `outer`, which is row-major, `inner` begins, where it is a part of that.
std::optional<int64_t> placeWithin(const StoredTensor &inner, const StoredTensor &outer);

/// Whether an element of one lies on an element of the other. Both can be loaded.
bool shareMemory(const StoredTensor &first, const StoredTensor &second);

} // namespace ptc::import
