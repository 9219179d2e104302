#include "compiler/codegen/cuda/CopyPipeline.h"

using namespace llvm;

namespace ptc::cuda {

/// Barriers of full stages, then those of empty ones.
Value *CopyPipeline::fullOf(Value *stage) {
  return b.CreateGEP(b.getInt8Ty(), barriers, b.CreateMul(stage, b.getInt32(kBarrierBytes)));
}

Value *CopyPipeline::emptyOf(Value *stage) { return fullOf(b.CreateAdd(stage, b.getInt32(stages))); }

void CopyPipeline::init() {
  for (unsigned stage = 0; stage < stages; ++stage) {
    gpu.initPhases(b, fullOf(b.getInt32(stage)), 1);
    gpu.initPhases(b, emptyOf(b.getInt32(stage)), consumers);
  }
  gpu.fenceForPhases(b);
}

CopyPipeline::Place CopyPipeline::first() { return {b.getInt32(0), b.getInt32(0)}; }

CopyPipeline::Place CopyPipeline::next(Place place) {
  Value *stage = b.CreateAdd(place.stage, b.getInt32(1));
  Value *isBehind = b.CreateICmpEQ(stage, b.getInt32(stages));
  return {b.CreateSelect(isBehind, b.getInt32(0), stage),
          b.CreateSelect(isBehind, b.CreateXor(place.parity, b.getInt32(1)), place.parity)};
}

CopyPipeline::Place CopyPipeline::behind(Place place, Value *count) {
  Value *stage = b.CreateAdd(place.stage, count), *rounds = b.CreateUDiv(stage, b.getInt32(stages));
  return {b.CreateURem(stage, b.getInt32(stages)), b.CreateXor(place.parity, b.CreateAnd(rounds, 1))};
}

Value *CopyPipeline::offsetOf(Place place) { return b.CreateMul(place.stage, b.getInt32(stageBytes)); }

/// In the first round all stages are empty: the phase before the first one has ended.
Value *CopyPipeline::beginToFill(Place place) {
  gpu.waitForPhase(b, emptyOf(place.stage), b.CreateXor(place.parity, b.getInt32(1)));
  Value *full = fullOf(place.stage);
  gpu.arriveAndExpect(b, full, stageBytes);
  return full;
}

void CopyPipeline::waitUntilFull(Place place) { gpu.waitForPhase(b, fullOf(place.stage), place.parity); }

void CopyPipeline::release(Value *stage) { gpu.arrive(b, emptyOf(stage)); }

} // namespace ptc::cuda
