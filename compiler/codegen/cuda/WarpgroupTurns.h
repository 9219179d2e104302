//===- WarpgroupTurns.h - warpgroups that do something in turns -----------===//
//
// So that some store results, or compute what is not tensor cores' work, while those have the products of others. Each
// warpgroup has a numbered barrier of the block, to which all others come when they have had their turn.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cuda/GpuBuilder.h"

namespace ptc::cuda {

class WarpgroupTurns {
public:
  /// `group` (i32): the number of the thread's warpgroup, of `groups` from 0 on.
  WarpgroupTurns(Ir &b, GpuBuilder &gpu, llvm::Value *group, unsigned groups)
      : b(b), gpu(gpu), group(group), groups(groups) {}

  /// By all of them, before the first turn, which is the first warpgroup's.
  void start();
  void wait();
  void pass();

private:
  void comeTo(llvm::Value *other);
  llvm::Value *barrierOf(llvm::Value *of) { return b.CreateAdd(of, b.getInt32(1)); } // 0 is the block's
  unsigned threads() const;

  Ir &b;
  GpuBuilder &gpu;
  llvm::Value *group;
  unsigned groups;
};

} // namespace ptc::cuda
