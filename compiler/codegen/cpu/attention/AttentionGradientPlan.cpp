#include "compiler/codegen/cpu/attention/AttentionGradientPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::cpu {

/// Lays out scratch: each part starts at a multiple of 64 bytes.
static void planScratch(AttentionGradientPlan &plan) {
  int64_t size = 0;
  auto place = [&](int64_t elements) {
    int64_t at = size;
    size += llvm::alignTo(elements * plan.scoreBytes, 64);
    return at;
  };
  plan.keyPanelsAt = place(plan.keyBlock * plan.featureCount);
  plan.valuePanelsAt = place(plan.keyBlock * plan.valueCount);
  plan.keysAt = place(plan.copyKeys ? plan.keyBlock * plan.featureStride : 0);
  plan.queriesAt = place(plan.copyQueries ? plan.queryBlock * plan.featureStride : 0);
  plan.gradsAt = place(plan.copyGrads ? plan.queryBlock * plan.valueStride : 0);
  plan.weightsAt = place(plan.queryBlock * plan.scoreStride());
  plan.scoresAt = place(plan.queryBlock * plan.scoreStride());
  plan.dkAt = place(plan.keyBlock * plan.featureStride);
  plan.dvAt = place(plan.keyBlock * plan.valueStride);
  plan.scratchSize = size;
}

/// As many keys as leave room in L2 for their panels, their rows and their sums: 160 KiB of 64 features of f32, beside
/// 64 KiB of scores.
static void chooseBlocks(AttentionGradientPlan &plan) {
  constexpr int64_t kQueries = 64, kMostKeys = 128, kFeatures = 128;
  int64_t panel = plan.panelVectors * plan.width, features = std::max(plan.featureCount, plan.valueCount);
  int64_t most = std::clamp<int64_t>(kMostKeys * kFeatures / features, panel, kMostKeys);
  plan.queryBlock = std::clamp<int64_t>(getConstant(plan.queries).value_or(kQueries), 1, kQueries);
  plan.keyBlock = llvm::alignTo(std::clamp<int64_t>(getConstant(plan.keys).value_or(most), 1, most), panel);
}

llvm::Expected<AttentionGradientPlan> planAttentionGradient(loop::AttentionGradientOp op, const Target &target) {
  AttentionGradientPlan plan(op.getQ(), /*group=*/1, target);
  Shape dq = getShape(op.getDq()), dk = getShape(op.getDk()), dv = getShape(op.getDv());
  plan.parts = getConstant(dq.front()).value_or(0);
  plan.queryHeads = Shape(ShapeRef(dq).drop_front().drop_back(2));
  plan.keyHeads = Shape(ShapeRef(dk).drop_back(2));
  plan.queries = dq[dq.size() - 2];
  plan.keys = dk[dk.size() - 2];
  auto features = getConstant(dk.back()), values = getConstant(dv.back());
  if (plan.parts < 1 || !features || !values || *features < 1 || *values < 1)
    return llvm::createStringError("a derivative of attention over a dynamic number of features, or of parts");
  plan.featureCount = *features;
  plan.valueCount = *values;

  if (!findAccess(op.getQ(), op.getQMap(), plan.q) || !findAccess(op.getK(), op.getKMap(), plan.k) ||
      !findAccess(op.getV(), op.getVMap(), plan.v) || !findAccess(op.getGrad(), op.getGradMap(), plan.grad) ||
      (op.getMask() && !findAccess(op.getMask(), *op.getMaskMap(), plan.mask)))
    return llvm::createStringError("an operand of loop.attention_gradient is not strided");

  bool isNarrow = plan.element.isBF16() || plan.element.isF16();
  auto mustCopy = [&](const loop::StridedAccess &rows) { return isNarrow || getConstant(rows.strides.back()) != 1; };
  plan.copyKeys = mustCopy(plan.k);
  plan.copyQueries = mustCopy(plan.q);
  plan.copyGrads = mustCopy(plan.grad);
  plan.featureStride = llvm::alignTo(plan.featureCount, plan.width);
  plan.valueStride = llvm::alignTo(plan.valueCount, plan.width);
  plan.featureTile = chooseFeatureTile(plan.featureCount, plan.width, target);
  plan.valueTile = chooseFeatureTile(plan.valueCount, plan.width, target);
  chooseBlocks(plan);
  planScratch(plan);
  plan.keysOfPart = plan.keys.ceilDiv(plan.parts * plan.keyBlock) * plan.keyBlock;
  plan.tasks = product(plan.keyHeads, op.getContext()) * plan.parts;
  return plan;
}

} // namespace ptc::cpu
