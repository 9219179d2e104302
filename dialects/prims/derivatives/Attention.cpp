//===- Attention.cpp - the derivative of attention ------------------------===//
//
// Where attention gives its rows' log-sum-exp, `attention_gradient` computes the
// weights again, block by block (Dao, "FlashAttention-2", 2023, algorithm 2). It
// gives no derivative by the mask, which is as large as the scores; where that is
// wanted, and where there is no log-sum-exp, the rule is by parts, with the scores
// in memory.
//
//===----------------------------------------------------------------------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/Cotangents.h"

#include <limits>

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

namespace {
/// Attention again, with the queries of a group of heads as one more dimension:
/// q [B..., Hk, r, Lq, E], k [B..., Hk, Lk, E], scores [B..., Hk, r, Lq, Lk].
class AttentionRule {
public:
  AttentionRule(AttentionOp op, Cotangents &c)
      : op(op), c(c), q(group(c.operand(0))), k(c.operand(1)), v(c.operand(2)), batch(allDims(k.rank() - 2)),
        queries(k.rank() - 1), keys(k.rank() - 2), last(q.rank() - 1) {}

  void apply();

private:
  Term group(Term x);
  Term ungroup(Term x);
  Term scores();
  Term weights();
  Term ofMask(Term ofScores);
  /// As the products take it: half types are rounded, and their sums are f32.
  Term rounded(Term x) const { return convert(x, k.element()); }

  AttentionOp op;
  Cotangents &c;
  Term q, k, v;
  Dims batch;            ///< B..., Hk
  int64_t queries, keys; ///< the dimension of queries in q and scores; of keys in k and v
  int64_t last;          ///< of q and scores
};
} // namespace

/// [B..., Hq, ...] as [B..., Hk, Hq / Hk, ...].
Term AttentionRule::group(Term x) {
  Shape sizes = x.shape();
  size_t head = sizes.size() - 3;
  AffineExpr shared = getShape(op.getK())[head];
  AffineExpr perHead = isEqual(sizes[head], shared) ? x.size(1) : sizes[head].floorDiv(shared);
  sizes[head] = shared;
  sizes.insert(sizes.begin() + head + 1, perHead);
  return reshape(x, sizes);
}

Term AttentionRule::ungroup(Term x) {
  Shape sizes = x.shape();
  size_t head = sizes.size() - 4;
  sizes[head] = getShape(op.getQ())[head];
  sizes.erase(sizes.begin() + head + 1);
  return reshape(x, sizes);
}

/// In the type in which sums are made.
Term AttentionRule::scores() {
  Term products = contract(q, k, batch, batch, last, k.rank() - 1);
  Term scores = products * op.getScale().convertToDouble();
  Term excluded = scores.full(-std::numeric_limits<double>::infinity());
  if (op.getMask()) {
    Shape whole = getShape(op.getQ());
    whole.back() = k.shape()[keys];
    Term mask = group(broadcast(c.operand(3), whole, allDims(whole.size())));
    scores = isBool(mask.element()) ? select(mask, scores, excluded) : scores + convert(mask, scores.element());
  }
  return op.getCausal() ? select(scores.places(last) > scores.places(queries), excluded, scores) : scores;
}

/// Their softmax: 0 in rows that have nothing but -inf.
Term AttentionRule::weights() {
  Term s = scores(), top = reduce("max", s, last);
  Term isEmpty = top == -std::numeric_limits<double>::infinity();
  Term e = exp(s - spread(select(isEmpty, top.full(0), top), last, s)), total = sum(e, last);
  return e / spread(select(isEmpty, total.full(1), total), last, e);
}

/// Sums over the dimensions that the mask has not.
Term AttentionRule::ofMask(Term ofScores) {
  Term mask = c.operand(3), whole = ungroup(ofScores);
  Dims summed;
  for (auto [i, size] : llvm::enumerate(mask.shape()))
    if (getConstant(size) == 1 && getConstant(whole.shape()[i]) != 1)
      summed.push_back(i);
  return convert(reshape(sum(whole, summed), mask.shape()), mask.element());
}

/// What the rows' weights have in common: the sum of y dy over the features, less the cotangent of log-sum-exp.
static Term makeDelta(AttentionOp op, Cotangents &c, Type element) {
  Term y = convert(c.result(), element), delta = sum(y * convert(c.gradOrZero(0), element), y.rank() - 1);
  Term ofLogSumExp = op.getLogsumexp() ? c.grad(1) : Term();
  return ofLogSumExp ? delta - ofLogSumExp : delta;
}

/// With the scores in memory. dV = P^T dY and dS = P (dP - delta), with dP = dY V^T (Dao et al., 2022).
void AttentionRule::apply() {
  Term p = weights(), g = group(c.gradOrZero(0));
  Dims rows = {queries - 1, queries};
  Term ofValues = contract(rounded(p), g, batch, batch, rows, rows);
  Term ofWeights = contract(g, v, batch, batch, last, v.rank() - 1);
  Term delta = reshape(makeDelta(op, c, p.element()), ShapeRef(p.shape()).drop_back());
  // What is excluded gives nothing, also where a row without weights has a result that is not a number.
  Term ofScores = select(p == 0.0, p.full(0), p * (ofWeights - spread(delta, last, p)));
  Term scaled = rounded(ofScores * op.getScale().convertToDouble());
  c.add(0, rounded(ungroup(contract(scaled, k, batch, batch, last, keys))));
  c.add(1, rounded(contract(scaled, q, batch, batch, rows, rows)));
  c.add(2, rounded(ofValues));
  if (op.getMask() && !isBool(elementOf(op.getMask())))
    c.add(3, ofMask(ofScores));
}

static void applyFused(AttentionOp op, Cotangents &c) {
  Term delta = makeDelta(op, c, elementOf(op.getLogsumexp()));
  auto gradients =
      delta.makeAll<AttentionGradientOp>(op.getQ(), op.getK(), op.getV(), c.gradOrZero(0).value(), op.getLogsumexp(),
                                         delta.value(), op.getMask(), op.getScaleAttr(), op.getCausalAttr());
  for (auto [i, gradient] : llvm::enumerate(gradients))
    c.add(i, gradient);
}

Error AttentionOp::differentiate(Cotangents &c) {
  bool wantsMask = getMask() && isFloat(elementOf(getMask())) && c.wants(3);
  if (getLogsumexp() && !wantsMask)
    applyFused(*this, c);
  else
    AttentionRule(*this, c).apply();
  return Error::success();
}

Error AttentionGradientOp::differentiate(Cotangents &c) {
  return c.refuse("here: second derivatives of attention are not supported");
}

} // namespace ptc::prims
