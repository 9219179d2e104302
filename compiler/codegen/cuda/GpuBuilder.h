//===- GpuBuilder.h - what a GPU has and a thread's arithmetic has not ----===//
//
// Emitters of kernels say what they want of the machine by these methods and never by an intrinsic, so that there is
// one place that knows PTX; short formulas of functions alone (codegen/kernel/Approximations.cpp) have intrinsics of
// their own. Names and instructions are those of the PTX ISA.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace ptc::cuda {

using Ir = llvm::IRBuilder<>;

/// Threads of a warp, and warps of a warpgroup.
constexpr unsigned kWarp = 32, kGroupWarps = 4;

class GpuBuilder {
public:
  virtual ~GpuBuilder() = default;

  /// An empty kernel of blocks of so many threads, whose parameters are pointers to global memory, then i64s, then maps
  /// of tensors. Its registers suffice for `resident` blocks on a multiprocessor (0: as may be).
  virtual llvm::Function *createKernel(llvm::Module &module, llvm::StringRef name, unsigned pointers, unsigned numbers,
                                       unsigned maps, unsigned threads, unsigned resident) = 0;

  /// %tid.x, %ctaid.x and %nctaid.x, as i64.
  virtual llvm::Value *threadIndex(Ir &b) = 0;
  virtual llvm::Value *blockIndex(Ir &b) = 0;
  virtual llvm::Value *blockCount(Ir &b) = 0;

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

  /// The block's shared memory of which a launch says how much there is, at a multiple of 1,024. A pointer to shared
  /// memory (address space 3), as those are that methods below take for shared memory.
  virtual llvm::Value *dynamicShared(Ir &b) = 0;

  /// shfl.sync.idx.b32: the value (i32) of the warp's first thread, where it is known to be the same in all: so that
  /// the assembler knows it too.
  virtual llvm::Value *uniform(Ir &b, llvm::Value *value) = 0;

  /// bar.warp.sync: all threads of the warp have come, and what they wrote can be read.
  virtual void warpBarrier(Ir &b) = 0;

  /// cp.async: `bytes` (4, 8 or 16) go from global to shared memory while the thread works on; where `isThere` (null:
  /// always) is unset nothing is read, and they are zeros.
  virtual void copyAsync(Ir &b, llvm::Value *to, llvm::Value *from, unsigned bytes, llvm::Value *isThere) = 0;

  /// cp.async.commit_group: the thread's copies since the last call are a group. cp.async.wait_group: all groups but
  /// the last `groups` are there, for this thread.
  virtual void commitCopies(Ir &b) = 0;
  virtual void waitForCopies(Ir &b, unsigned groups) = 0;

  /// ldmatrix.sync.aligned.m8n8.x4.b16: four matrices of 8 x 8 elements of 16 bits. Thread i of the warp has the
  /// address of row i % 8 of matrix i / 8 (`row`), and gets of each matrix elements 2 (i % 4) and the next of row i /
  /// 4, as an i32; with `transposes` (.trans) those of column i / 4.
  virtual llvm::SmallVector<llvm::Value *, 4> loadMatrices(Ir &b, llvm::Value *row, bool transposes) = 0;

  /// mma.sync.aligned.row.col: adds to the warp's 16 x 8 sums (4 a thread, of f32 or double) the product of 16 rows by
  /// 8 columns, 32 bytes deep. Of half and bfloat (m16n8k16) and of float as roundToTf32 makes it (m16n8k8) a thread
  /// has 4 and 2 i32, as loadMatrices gives them. Of double (m8n8k4, twice) it has 2 and 1: rows or columns i / 4 and,
  /// of the left one, i / 4 + 8, at depth i % 4.
  virtual void multiplyMatrices(Ir &b, llvm::Type *element, llvm::ArrayRef<llvm::Value *> lhs,
                                llvm::ArrayRef<llvm::Value *> rhs, llvm::MutableArrayRef<llvm::Value *> sums) = 0;

  /// The same of bytes (m16n8k32) with sums of i32; which of them have a sign is said for each operand.
  virtual void multiplyBytes(Ir &b, bool isLhsUnsigned, bool isRhsUnsigned, llvm::ArrayRef<llvm::Value *> lhs,
                             llvm::ArrayRef<llvm::Value *> rhs, llvm::MutableArrayRef<llvm::Value *> sums) = 0;

  /// cvt.rna.tf32.f32: the bits (i32) of the nearest number of 10 bits of fraction, of those of a float.
  virtual llvm::Value *roundToTf32(Ir &b, llvm::Value *bits) = 0;

  /// fence.proxy.async.shared::cta: what the thread has written to shared memory, wgmma reads, once a barrier is
  /// between.
  virtual void fenceForProducts(Ir &b) = 0;

  /// wgmma.fence.sync.aligned: before the first of several products.
  virtual void beginProducts(Ir &b) = 0;

  /// An operand of wgmma: where it lies in shared memory (a descriptor, i64), whether its depth is side by side, and
  /// whether its elements are integers without sign.
  struct SharedMatrix {
    llvm::Value *descriptor;
    bool isDeep, isUnsigned = false;
  };
  /// wgmma.mma_async.sync.aligned.m64nN, N twice the number of sums: the product of 64 rows by N columns, 32 bytes
  /// deep, becomes a warpgroup's sums, or is added to them where `isMore` (i32) is not 0, while the threads work on.
  /// Elements are half or bfloat, or, with the depth side by side, float as roundToTf32 makes it, with sums of float;
  /// or bytes, with sums of i32. Warp w of the group has rows 16 w to 16 w + 15, as multiplyMatrices lays them out.
  virtual void startProduct(Ir &b, llvm::Type *element, SharedMatrix lhs, SharedMatrix rhs,
                            llvm::MutableArrayRef<llvm::Value *> sums, llvm::Value *isMore) = 0;

  /// The same of half or bfloat with the left operand in registers, of which a thread has 4 i32 as multiplyMatrices
  /// takes them; the product is added to the sums.
  virtual void startProduct(Ir &b, llvm::Type *element, llvm::ArrayRef<llvm::Value *> lhs, SharedMatrix rhs,
                            llvm::MutableArrayRef<llvm::Value *> sums) = 0;

  /// wgmma.commit_group: the products since the last call are a group. wgmma.wait_group: all groups but the last
  /// `groups` are done, and the sums of those are there, which `sums` are some of. Until then registers keep `operands`
  /// of those products.
  virtual void commitProducts(Ir &b) = 0;
  virtual void waitForProducts(Ir &b, unsigned groups, llvm::MutableArrayRef<llvm::Value *> sums,
                               llvm::ArrayRef<llvm::Value *> operands = {}) = 0;

  /// bar.sync and bar.arrive of a barrier of the block with a number (i32) from 1 on: so many of its threads have come,
  /// some of which may go on at once.
  virtual void comeTogether(Ir &b, llvm::Value *barrier, unsigned threads) = 0;
  virtual void comeBy(Ir &b, llvm::Value *barrier, unsigned threads) = 0;

  /// setmaxnreg: the threads of a warpgroup, which all come here, have so many registers from now on, a multiple of 8:
  /// more than before, which others must have given back, or fewer.
  virtual void raiseRegisters(Ir &b, unsigned registers) = 0;
  virtual void lowerRegisters(Ir &b, unsigned registers) = 0;

  /// mbarrier.init.shared::cta.b64 of eight bytes of shared memory: a phase of it ends when `arrivals` threads have
  /// come and all bytes that are expected are there. fence.mbarrier_init: the copy engine sees what the thread has made
  /// so; others see it behind a barrier.
  virtual void initPhases(Ir &b, llvm::Value *phases, unsigned arrivals) = 0;
  virtual void fenceForPhases(Ir &b) = 0;

  /// mbarrier.arrive, and with .expect_tx: in this phase so many bytes come besides.
  virtual void arrive(Ir &b, llvm::Value *phases) = 0;
  virtual void arriveAndExpect(Ir &b, llvm::Value *phases, unsigned bytes) = 0;

  /// mbarrier.try_wait.parity, again and again: until the phase of that parity (i32) has ended. The first one has 0; at
  /// the begin that before it, which has ended.
  virtual void waitForPhase(Ir &b, llvm::Value *phases, llvm::Value *parity) = 0;

  /// prefetch.tensormap: a map is about to be used.
  virtual void prefetchMap(Ir &b, llvm::Value *map) = 0;

  /// cp.async.bulk.tensor.tile: the copy engine brings a box of a tensor, from `coordinates` (i32) on, to shared memory
  /// at a multiple of 1,024, and tells `phases` of its bytes.
  virtual void copyBox(Ir &b, llvm::Value *to, llvm::Value *map, llvm::ArrayRef<llvm::Value *> coordinates,
                       llvm::Value *phases) = 0;

  /// ex2.approx.ftz.f32: 2^x within two units of the last place; a subnormal result is zero.
  virtual llvm::Value *exp2(Ir &b, llvm::Value *x) = 0;
};

/// PTX by way of LLVM's NVPTX back end.
class NvvmBuilder : public GpuBuilder {
public:
  llvm::Function *createKernel(llvm::Module &module, llvm::StringRef name, unsigned pointers, unsigned numbers,
                               unsigned maps, unsigned threads, unsigned resident) override;
  llvm::Value *threadIndex(Ir &b) override;
  llvm::Value *blockIndex(Ir &b) override;
  llvm::Value *blockCount(Ir &b) override;
  void barrier(Ir &b) override;
  void atomic(Ir &b, llvm::AtomicRMWInst::BinOp combine, llvm::Value *address, llvm::Value *value) override;
  llvm::Value *compareAndSwap(Ir &b, llvm::Value *address, llvm::Value *expected, llvm::Value *next) override;
  llvm::Value *loadRelaxed(Ir &b, llvm::Type *type, llvm::Value *address) override;
  llvm::Value *shuffle(Ir &b, llvm::Value *value, unsigned mask) override;
  llvm::Value *shared(Ir &b, llvm::Type *element, unsigned count) override;
  llvm::Value *dynamicShared(Ir &b) override;
  llvm::Value *uniform(Ir &b, llvm::Value *value) override;
  void warpBarrier(Ir &b) override;
  void copyAsync(Ir &b, llvm::Value *to, llvm::Value *from, unsigned bytes, llvm::Value *isThere) override;
  void commitCopies(Ir &b) override;
  void waitForCopies(Ir &b, unsigned groups) override;
  llvm::SmallVector<llvm::Value *, 4> loadMatrices(Ir &b, llvm::Value *row, bool transposes) override;
  void multiplyMatrices(Ir &b, llvm::Type *element, llvm::ArrayRef<llvm::Value *> lhs,
                        llvm::ArrayRef<llvm::Value *> rhs, llvm::MutableArrayRef<llvm::Value *> sums) override;
  void multiplyBytes(Ir &b, bool isLhsUnsigned, bool isRhsUnsigned, llvm::ArrayRef<llvm::Value *> lhs,
                     llvm::ArrayRef<llvm::Value *> rhs, llvm::MutableArrayRef<llvm::Value *> sums) override;
  llvm::Value *roundToTf32(Ir &b, llvm::Value *bits) override;
  void fenceForProducts(Ir &b) override;
  void beginProducts(Ir &b) override;
  void startProduct(Ir &b, llvm::Type *element, SharedMatrix lhs, SharedMatrix rhs,
                    llvm::MutableArrayRef<llvm::Value *> sums, llvm::Value *isMore) override;
  void startProduct(Ir &b, llvm::Type *element, llvm::ArrayRef<llvm::Value *> lhs, SharedMatrix rhs,
                    llvm::MutableArrayRef<llvm::Value *> sums) override;
  void commitProducts(Ir &b) override;
  void waitForProducts(Ir &b, unsigned groups, llvm::MutableArrayRef<llvm::Value *> sums,
                       llvm::ArrayRef<llvm::Value *> operands) override;
  void comeTogether(Ir &b, llvm::Value *barrier, unsigned threads) override;
  void comeBy(Ir &b, llvm::Value *barrier, unsigned threads) override;
  void raiseRegisters(Ir &b, unsigned registers) override;
  void lowerRegisters(Ir &b, unsigned registers) override;
  void initPhases(Ir &b, llvm::Value *phases, unsigned arrivals) override;
  void fenceForPhases(Ir &b) override;
  void arrive(Ir &b, llvm::Value *phases) override;
  void arriveAndExpect(Ir &b, llvm::Value *phases, unsigned bytes) override;
  void waitForPhase(Ir &b, llvm::Value *phases, llvm::Value *parity) override;
  void prefetchMap(Ir &b, llvm::Value *map) override;
  void copyBox(Ir &b, llvm::Value *to, llvm::Value *map, llvm::ArrayRef<llvm::Value *> coordinates,
               llvm::Value *phases) override;
  llvm::Value *exp2(Ir &b, llvm::Value *x) override;
};

} // namespace ptc::cuda
