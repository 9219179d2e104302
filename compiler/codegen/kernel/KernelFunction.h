//===- KernelFunction.h - what functions of kernels have alike ------------===//
//
// On every device a loop.kernel becomes a function over the kernel's tensors that notes where an index was out of
// range.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "compiler/codegen/kernel/KernelFrame.h"
#include "dialects/loop/Loop.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ptc::kernel {

/// Fails for the first type or operation in a kernel that no device has code for; `device` is in the message.
llvm::Error checkBodies(loop::KernelOp kernel, llvm::StringRef device);

/// What fault code c (from 1 on) means, at c - 1; and gives the checks of the kernel these codes.
std::vector<Fault> findFaults(loop::KernelOp kernel);
void numberFaults(KernelFrame &frame, loop::KernelOp kernel);

/// Notes that index (i64 or a vector of them) is out of range, in the lanes that `isOutside` says.
void noteFault(KernelFrame &frame, loop::CheckedIndexOp op, llvm::Value *index, llvm::Value *isOutside);

/// Tells LLVM which buffers of the kernel are different memory.
void setAlias(KernelFrame &frame, loop::KernelOp kernel);

/// An index that is out of range is noted, and another element read in its stead. Of nothing there is no other: the
/// function returns before it begins.
void endWhereNothingIsIndexed(KernelFrame &frame, loop::KernelOp kernel);

} // namespace ptc::kernel
