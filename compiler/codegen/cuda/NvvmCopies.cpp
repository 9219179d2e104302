//===- NvvmCopies.cpp - the copy engine, and barriers in memory, as PTX ---===//

#include "compiler/codegen/cuda/GpuBuilder.h"

#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/NVPTXAddrSpace.h"

using namespace llvm;

namespace ptc::cuda {

void NvvmBuilder::initPhases(Ir &b, Value *phases, unsigned arrivals) {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_init_shared, {phases, b.getInt32(arrivals)});
}

void NvvmBuilder::fenceForPhases(Ir &b) { b.CreateIntrinsic(Intrinsic::nvvm_fence_mbarrier_init_release_cluster, {}); }

void NvvmBuilder::arrive(Ir &b, Value *phases) {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_arrive_scope_cta_space_cta, {phases, b.getInt32(1)});
}

void NvvmBuilder::arriveAndExpect(Ir &b, Value *phases, unsigned bytes) {
  b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_arrive_expect_tx_scope_cta_space_cta, {phases, b.getInt32(bytes)});
}

void NvvmBuilder::waitForPhase(Ir &b, Value *phases, Value *parity) {
  Function *function = b.GetInsertBlock()->getParent();
  BasicBlock *wait = BasicBlock::Create(b.getContext(), "wait", function);
  BasicBlock *exit = BasicBlock::Create(b.getContext(), "waited", function);
  b.CreateBr(wait);
  b.SetInsertPoint(wait);
  Value *isOver = b.CreateIntrinsic(Intrinsic::nvvm_mbarrier_try_wait_parity_scope_cta_space_cta, {phases, parity});
  b.CreateCondBr(isOver, exit, wait);
  b.SetInsertPoint(exit);
}

void NvvmBuilder::prefetchMap(Ir &b, Value *map) {
  b.CreateIntrinsic(Intrinsic::nvvm_prefetch_tensormap, {map->getType()}, {map});
}

static Intrinsic::ID getCopy(unsigned rank) {
  constexpr Intrinsic::ID kCopies[] = {
      Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_1d, Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_2d,
      Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_3d, Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_4d,
      Intrinsic::nvvm_cp_async_bulk_tensor_g2s_tile_5d};
  return kCopies[rank - 1];
}

/// To this block alone, with no hint for caches.
void NvvmBuilder::copyBox(Ir &b, Value *to, Value *map, ArrayRef<Value *> coordinates, Value *phases) {
  SmallVector<Value *> operands = {b.CreateAddrSpaceCast(to, b.getPtrTy(NVPTXAS::ADDRESS_SPACE_SHARED_CLUSTER)), phases,
                                   map};
  append_range(operands, coordinates);
  operands.append({b.getInt16(0), b.getInt64(0), b.getFalse(), b.getFalse(), b.getInt32(0)});
  b.CreateIntrinsic(getCopy(coordinates.size()), operands);
}

} // namespace ptc::cuda
