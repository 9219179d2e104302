#include "compiler/codegen/cpu/attention/AttentionPlan.h"

#include "compiler/codegen/cpu/tile/Tasks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::cpu {

AttentionTiles::AttentionTiles(Value operand, unsigned group, const Target &target)
    : element(llvm::cast<RankedTensorType>(operand.getType()).getElementType()), scoreBytes(element.isF64() ? 8 : 4),
      width(target.vectorBytes / scoreBytes), panelVectors(2),
      tileRows(std::clamp<int64_t>((target.vectorRegisters - 3) / 2, 1, 12)), group(group) {}

FeatureTile chooseFeatureTile(int64_t features, unsigned width, const Target &target) {
  int64_t vectors = std::min<int64_t>(llvm::divideCeil(features, width), target.vectorRegisters >= 32 ? 4 : 2);
  return {vectors, std::clamp<int64_t>((target.vectorRegisters - vectors - 1) / vectors, 1, 12)};
}

/// Lays out scratch: each part starts at a multiple of 64 bytes.
static void planScratch(AttentionPlan &plan) {
  int64_t size = 0;
  auto place = [&](int64_t elements) { // of the scores' type, which no other is larger than
    int64_t at = size;
    size += llvm::alignTo(elements * plan.scoreBytes, 64);
    return at;
  };
  plan.keysAt = place(plan.keyBlock * plan.packedFeatures);
  plan.scoresAt = place(plan.queryBlock * (plan.keyBlock + plan.width));
  plan.lowAt = place(plan.group > 1 ? llvm::divideCeil(plan.queryBlock * (plan.keyBlock + plan.width), 2) : 0);
  plan.outputAt = place(plan.queryBlock * plan.valueStride);
  for (int64_t *ofRows : {&plan.maximumAt, &plan.sumAt, &plan.originAt, &plan.rescaleAt}) // whole vectors of rows
    *ofRows = place(llvm::alignTo(plan.queryBlock, plan.width));
  plan.queriesAt = place(plan.copyQueries ? plan.queryBlock * plan.featureCount : 0);
  plan.valuesAt = place(plan.copyValues ? plan.keyBlock * plan.valueStride : 0);
  plan.scratchSize = size;
}

/// Each block packs the keys for itself, a tenth of what it does with 96 queries of 64 features: where heads are work
/// enough for many cores, and L2 is as large as with AVX-512 (1 MiB), blocks are twice as large, and alike. Not of
/// causal attention, whose blocks multiply half of the keys that they reach for nothing.
static int64_t chooseQueryBlock(loop::AttentionOp op, const AttentionPlan &plan, const Target &target) {
  constexpr int64_t kMost = 96, kAvx512Bytes = 64, kManyTasks = 24;
  auto queries = getConstant(plan.queries), heads = getConstant(product(plan.outer, op.getContext()));
  if (!queries)
    return kMost;
  int64_t block = kMost, fewer = llvm::divideCeil(*queries, 2 * kMost);
  if (heads && *heads * fewer >= kManyTasks && target.vectorBytes == kAvx512Bytes && !op.getCausal())
    block = llvm::alignTo(llvm::divideCeil(*queries, fewer), plan.tileRows);
  return std::clamp<int64_t>(block, 1, std::max<int64_t>(*queries, 1));
}

bool findAccess(Value tensor, AffineMap map, loop::StridedAccess &access) {
  auto found = loop::getStridedAccess(map, getShape(tensor));
  if (found)
    access = *found;
  return found.has_value();
}

llvm::Expected<AttentionPlan> planAttention(loop::AttentionOp op, const Target &target) {
  if (op.getQueriesFirst())
    return llvm::createStringError("attention that stores queries before heads");
  MLIRContext *context = op.getContext();
  AttentionPlan plan(op.getQ(), groupOf(target, elementOf(op.getQ())), target);
  Shape domain = getShape(op.getResult(0));
  plan.outer = Shape(ShapeRef(domain).drop_back(2));
  plan.queries = domain[domain.size() - 2];
  plan.valueFeatures = domain.back();
  plan.keys = getSizeFromAttr(op.getKeySize());
  plan.features = getSizeFromAttr(op.getHeadSize());
  auto features = getConstant(plan.features), valueFeatures = getConstant(plan.valueFeatures);
  if (!features || !valueFeatures)
    return llvm::createStringError("attention over a dynamic number of features");
  plan.featureCount = *features;
  plan.valueFeatureCount = *valueFeatures;

  if (!findAccess(op.getQ(), op.getQMap(), plan.q) || !findAccess(op.getK(), op.getKMap(), plan.k) ||
      !findAccess(op.getV(), op.getVMap(), plan.v) ||
      (op.getMask() && !findAccess(op.getMask(), *op.getMaskMap(), plan.mask)))
    return llvm::createStringError("an operand of loop.attention is not strided");

  plan.valueTile = chooseFeatureTile(plan.valueFeatureCount, plan.width, target);
  plan.valueStride = llvm::alignTo(plan.valueFeatureCount, plan.width);
  plan.packedFeatures = llvm::alignTo(plan.featureCount, plan.group);
  bool narrow = plan.element.isBF16() || plan.element.isF16();
  plan.copyQueries = plan.group > 1 ? getConstant(plan.q.strides.back()) != 1 : narrow;
  plan.copyValues = narrow || getConstant(plan.v.strides.back()) != 1;

  plan.queryBlock = chooseQueryBlock(op, plan, target);
  // A block of keys and its scores stay in L2; a short sequence is one block.
  int64_t panelKeys = plan.panelVectors * plan.width; // a block is whole panels
  plan.keyBlock = llvm::alignTo(std::clamp<int64_t>(getConstant(plan.keys).value_or(256), 1, 256), panelKeys);
  planScratch(plan);
  plan.blocks = plan.queries.ceilDiv(plan.queryBlock);
  plan.tasks = product(plan.outer, context) * plan.blocks;
  return plan;
}

} // namespace ptc::cpu
