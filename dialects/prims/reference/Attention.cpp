//===- Attention.cpp - attention and its derivatives ----------------------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/reference/Evaluation.h"

#include <cmath>
#include <limits>

using llvm::Error;

namespace ptc::prims {

static constexpr double kExcluded = -std::numeric_limits<double>::infinity();

namespace {
/// The scores of attention, a row at a time: rows count over batch, head and query.
class Scores {
public:
  template <class Op>
  Scores(Op op, Evaluation &e, size_t maskOperand)
      : q(e[0]), k(e[1]), scale(op.getScale().convertToDouble()), isCausal(op.getCausal()) {
    size_t rank = q.shape.size();
    heads = q.shape[rank - 3], shared = k.shape[rank - 3], queries = q.shape[rank - 2], keys = k.shape[rank - 2];
    features = q.shape[rank - 1];
    count = countElements(llvm::ArrayRef(q.shape).drop_back(1));
    if (!op.getMask())
      return;
    const Tensor &given = e[maskOperand];
    Sizes scores(q.shape), strides = stridesOf(given.shape);
    scores[rank - 1] = keys;
    for (size_t d = 0; d < rank; ++d)
      strides[d] = given.shape[d] == 1 ? 0 : strides[d];
    mask = readStrided(given, scores, 0, strides);
  }

  /// The first key that the row sees, of all heads of keys.
  int64_t firstKey(int64_t row) const {
    int64_t head = row / queries;
    return (head / heads * shared + head % heads / (heads / shared)) * keys;
  }

  std::vector<double> operator[](int64_t row) const {
    std::vector<double> scores(keys);
    for (int64_t j = 0; j < keys; ++j) {
      double &score = scores[j];
      for (int64_t c = 0; c < features; ++c)
        score += q.reals[row * features + c] * k.reals[(firstKey(row) + j) * features + c];
      score *= scale;
      if (mask && isBool(mask->element))
        score = mask->integers[row * keys + j] ? score : kExcluded;
      else if (mask)
        score += mask->reals[row * keys + j];
      if (isCausal && j > row % queries) // whatever the mask says
        score = kExcluded;
    }
    return scores;
  }

  int64_t count, keys, features;

private:
  const Tensor &q, &k;
  std::optional<Tensor> mask; ///< of every score
  double scale;
  bool isCausal;
  int64_t heads, shared, queries;
};
} // namespace

/// Scores become their softmax; a row of -inf only becomes `empty`. Answers the log of the sum of their exponentials.
static double softmax(std::vector<double> &row, double empty) {
  double top = kExcluded, total = 0;
  for (double x : row)
    top = std::isnan(x) || x > top ? x : top;
  bool excluded = std::isinf(top) && top < 0;
  for (double &x : row)
    total += x = excluded ? 0 : std::exp(x - top);
  for (double &x : row)
    x = excluded ? empty : x / total;
  return excluded ? std::numeric_limits<double>::infinity() : top + std::log(total);
}

Error AttentionOp::evaluate(Evaluation &e) {
  const Tensor &v = e[2];
  Scores scores(*this, e, 3);
  Tensor result = e.makeResult(), logsumexp = getWithLogsumexp() ? e.makeResult(1) : Tensor();
  int64_t features = v.shape.back();
  for (int64_t i = 0; i < scores.count; ++i) {
    std::vector<double> row = scores[i];
    double sum = softmax(row, getEmptyIsNan() ? std::numeric_limits<double>::quiet_NaN() : 0);
    if (getWithLogsumexp())
      logsumexp.reals[i] = sum;
    for (int64_t j = 0; j < scores.keys; ++j)
      for (int64_t c = 0; row[j] != 0 && c < features; ++c)
        result.reals[i * features + c] += row[j] * v.reals[(scores.firstKey(i) + j) * features + c];
  }
  if (getWithLogsumexp())
    (void)e.set(std::move(logsumexp), 1);
  return e.set(std::move(result));
}

Error AttentionGradientOp::evaluate(Evaluation &e) {
  const Tensor &q = e[0], &k = e[1], &v = e[2], &grad = e[3], &logsumexp = e[4], &delta = e[5];
  Scores scores(*this, e, 6);
  Tensor dq = e.makeResult(0), dk = e.makeResult(1), dv = e.makeResult(2);
  int64_t width = scores.features, valueWidth = v.shape.back();
  double scale = getScale().convertToDouble();
  for (int64_t i = 0; i < scores.count; ++i) {
    std::vector<double> row = scores[i];
    for (int64_t j = 0; j < scores.keys; ++j) {
      if (row[j] == kExcluded)
        continue;
      int64_t key = scores.firstKey(i) + j;
      double weight = std::exp(row[j] - logsumexp.reals[i]), ofWeight = 0;
      for (int64_t c = 0; c < valueWidth; ++c) {
        dv.reals[key * valueWidth + c] += weight * grad.reals[i * valueWidth + c];
        ofWeight += grad.reals[i * valueWidth + c] * v.reals[key * valueWidth + c];
      }
      double ofScore = scale * weight * (ofWeight - delta.reals[i]);
      for (int64_t c = 0; c < width; ++c) {
        dq.reals[i * width + c] += ofScore * k.reals[key * width + c];
        dk.reals[key * width + c] += ofScore * q.reals[i * width + c];
      }
    }
  }
  (void)e.set(std::move(dk), 1);
  (void)e.set(std::move(dv), 2);
  return e.set(std::move(dq));
}

} // namespace ptc::prims
