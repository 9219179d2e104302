//===- GpuBuilder.h - what a GPU has and a thread's arithmetic has not ----===//
//
// Emitters of kernels say what they want of the machine by these methods and never by an intrinsic, so that there is
// one place that knows PTX. Names and instructions are those of the PTX ISA.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace ptc::cuda {

using Ir = llvm::IRBuilder<>;

/// Threads of a warp.
constexpr unsigned kWarp = 32;

class GpuBuilder {
public:
  virtual ~GpuBuilder() = default;

  /// An empty kernel of blocks of so many threads, whose parameters are pointers to global memory and then i64s.
  virtual llvm::Function *createKernel(llvm::Module &module, llvm::StringRef name, unsigned pointers, unsigned numbers,
                                       unsigned threads) = 0;

  /// %tid.x and %ctaid.x, as i64.
  virtual llvm::Value *threadIndex(Ir &b) = 0;
  virtual llvm::Value *blockIndex(Ir &b) = 0;

  /// bar.sync 0: all threads of the block have come, and what they wrote can be read.
  virtual void barrier(Ir &b) = 0;

  /// atom.relaxed.gpu.add, .min, .max, .and, .or: what lies at `address` (global memory) and an integer are combined.
  virtual void atomic(Ir &b, llvm::AtomicRMWInst::BinOp combine, llvm::Value *address, llvm::Value *value) = 0;

  /// atom.relaxed.gpu.cas: where `expected` lies at `address`, `next` does. Answers what lay there. Integers; of fewer
  /// than 32 bits those beside them are read and written along.
  virtual llvm::Value *compareAndSwap(Ir &b, llvm::Value *address, llvm::Value *expected, llvm::Value *next) = 0;

  /// ld.relaxed.gpu: an integer that other threads may change at this time by the two above.
  virtual llvm::Value *loadRelaxed(Ir &b, llvm::Type *type, llvm::Value *address) = 0;

  /// shfl.sync.bfly.b32: the value (i32) of the thread of the warp whose number differs in the bits of `mask`.
  virtual llvm::Value *shuffle(Ir &b, llvm::Value *value, unsigned mask) = 0;

  /// The address of `count` elements of the block's shared memory, of this kernel alone.
  virtual llvm::Value *shared(Ir &b, llvm::Type *element, unsigned count) = 0;
};

/// PTX by way of LLVM's NVPTX back end.
class NvvmBuilder : public GpuBuilder {
public:
  llvm::Function *createKernel(llvm::Module &module, llvm::StringRef name, unsigned pointers, unsigned numbers,
                               unsigned threads) override;
  llvm::Value *threadIndex(Ir &b) override;
  llvm::Value *blockIndex(Ir &b) override;
  void barrier(Ir &b) override;
  void atomic(Ir &b, llvm::AtomicRMWInst::BinOp combine, llvm::Value *address, llvm::Value *value) override;
  llvm::Value *compareAndSwap(Ir &b, llvm::Value *address, llvm::Value *expected, llvm::Value *next) override;
  llvm::Value *loadRelaxed(Ir &b, llvm::Type *type, llvm::Value *address) override;
  llvm::Value *shuffle(Ir &b, llvm::Value *value, unsigned mask) override;
  llvm::Value *shared(Ir &b, llvm::Type *element, unsigned count) override;
};

} // namespace ptc::cuda
