//===- ToLoopAttention.cpp - attention and its derivative -----------------===//

#include "compiler/schedule/Lowering.h"
#include "dialects/prims/Compute.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

namespace {
/// The maps of attention's operands: where they lie is theirs, less what a mask has one of.
struct AttentionMaps {
  AttentionMaps(Value q, Value mask) {
    MLIRContext *context = q.getContext();
    unsigned rank = getShape(q).size();
    Shape places = makeDims(rank, context);
    identity = AffineMapAttr::get(makeIndexMap(rank, places, context));
    if (!mask)
      return;
    for (auto [place, size] : llvm::zip_equal(places, getShape(mask)))
      if (getConstant(size) == 1)
        place = getAffineConstantExpr(0, context);
    ofMask = AffineMapAttr::get(makeIndexMap(rank, places, context));
  }

  AffineMapAttr identity, ofMask;
};
} // namespace

/// Query heads for each key head.
static int64_t getGroup(Value q, Value k) {
  Shape queries = getShape(q), keys = getShape(k);
  auto heads = getConstant(queries[queries.size() - 3]), keyHeads = getConstant(keys[keys.size() - 3]);
  return heads && keyHeads && *keyHeads > 0 ? *heads / *keyHeads : 1;
}

SmallVector<Value> lowerAttention(Builder &b, prims::AttentionOp op) {
  Shape q = getShape(op.getQ()), k = getShape(op.getK());
  AttentionMaps maps(op.getQ(), op.getMask());
  bool isTrained = op.getLogsumexp() && !op.getLogsumexp().use_empty();
  SmallVector<Type> types{op.getResult().getType()};
  if (isTrained)
    types.push_back(op.getLogsumexp().getType());
  auto attention = loop::AttentionOp::create(b, types, op.getQ(), op.getK(), op.getV(), op.getMask(), maps.identity,
                                             maps.identity, maps.identity, maps.ofMask, op.getScaleAttr(),
                                             op.getCausalAttr(), makeSizeAttr(k[k.size() - 2]), makeSizeAttr(q.back()),
                                             b.getI64IntegerAttr(getGroup(op.getQ(), op.getK())),
                                             op.getEmptyIsNanAttr(), isTrained ? b.getUnitAttr() : UnitAttr());
  buildEpilogue(b, attention);
  return attention.getResults();
}

/// How many parts the keys are cut into, which find what they add to dq each for itself. A task has a part of a key
/// head: where heads are few, parts make them enough for many threads; each costs another dq in memory, a quarter of
/// the scores of 64 features at most.
static int64_t countKeyParts(prims::AttentionGradientOp op) {
  constexpr int64_t kEnoughTasks = 24, kLeastKeys = 256, kMostParts = 16;
  Shape k = getShape(op.getK());
  int64_t heads = 1; // at least: other sizes depend on the call
  for (AffineExpr size : ShapeRef(k).drop_back(2))
    heads *= std::max<int64_t>(getConstant(size).value_or(1), 1);
  int64_t keys = getConstant(k[k.size() - 2]).value_or(4 * kLeastKeys);
  int64_t most = std::clamp<int64_t>(keys / kLeastKeys, 1, kMostParts);
  return std::clamp<int64_t>(llvm::divideCeil(kEnoughTasks, heads), 1, most);
}

SmallVector<Value> lowerAttentionGradient(Builder &b, prims::AttentionGradientOp op) {
  MLIRContext *context = b.getContext();
  AttentionMaps maps(op.getQ(), op.getMask());
  AffineExpr parts = getAffineConstantExpr(countKeyParts(op), context);
  Shape queries = getShape(op.getQ());
  queries.insert(queries.begin(), parts);
  auto gradient = loop::AttentionGradientOp::create(
      b, makeTensorType(queries, accumulatorOf(b, op.getQ())), op.getDk().getType(), op.getDv().getType(), op.getQ(),
      op.getK(), op.getV(), op.getGrad(), op.getLogsumexp(), op.getDelta(), op.getMask(), maps.identity, maps.identity,
      maps.identity, maps.identity, maps.ofMask, op.getScaleAttr(), op.getCausalAttr(),
      b.getI64IntegerAttr(getGroup(op.getQ(), op.getK())));
  auto partAt = [&](AffineExpr part, ValueRange ids) {
    Shape places = makeDims(queries.size() - 1, context);
    places.insert(places.begin(), part);
    return read(b, gradient.getDq(), places, ids);
  };
  auto type = tensorType(op.getDq());
  Value dq = getConstant(parts) == 1
                 ? createMap(b, type,
                             [&](ValueRange ids) {
                               return narrow(b, partAt(getAffineConstantExpr(0, context), ids), type.getElementType());
                             })
                 : createReduce(b, type, "sum", {parts}, [&](ValueRange ids) {
                     return partAt(getAffineDimExpr(queries.size() - 1, context), ids);
                   });
  return {dq, gradient.getDk(), gradient.getDv()};
}

} // namespace ptc::schedule
