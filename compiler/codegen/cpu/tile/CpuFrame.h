//===- CpuFrame.h - what a kernel function of the CPU has at hand ---------===//
#pragma once

#include "compiler/codegen/kernel/KernelFrame.h"

namespace ptc::cpu {

using namespace kernel;

/// By the kernel ABI of runtime/Program.h.
struct CpuFrame : KernelFrame {
  using KernelFrame::KernelFrame;

  /// Bytes of this thread, aligned to 64.
  llvm::Value *scratch = nullptr;
  /// Tag (i64) of the operand that is packed in this thread's scratch, for the step's calls that follow on the thread;
  /// 0: none.
  llvm::Value *kept = nullptr;
  /// The tasks to run: begin <= task < end.
  llvm::Value *begin = nullptr, *end = nullptr;
};

} // namespace ptc::cpu
