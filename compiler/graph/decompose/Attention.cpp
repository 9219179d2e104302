#include "compiler/graph/decompose/Random.h"
#include "compiler/graph/decompose/Statistics.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

namespace {
struct Options {
  double dropout = 0;
  bool isCausal = false;
  std::optional<double> scale;
};
} // namespace

/// With the leading dimensions of the queries; heads (dimension -3) stay as
/// they are where keys have fewer.
static T alignKeys(B &b, T keys, T queries) {
  while (keys.rank() < queries.rank())
    keys = b.unsqueeze(keys, 0);
  Shape sizes = keys.sizes();
  for (int64_t d = 0; d < keys.rank() - 2; ++d)
    if (b.isOne(sizes[d]) || d < keys.rank() - 3)
      sizes[d] = queries.size(d);
  return b.expand(keys, sizes);
}

/// Heads of keys for each group of heads of queries.
static T repeatHeads(B &b, T keys, T queries) {
  if (isEqual(keys.size(-3), queries.size(-3)))
    return keys;
  Shape sizes = keys.sizes(), grown = sizes;
  int64_t heads = keys.rank() - 3;
  grown.insert(grown.begin() + heads + 1, queries.size(-3).floorDiv(keys.size(-3)));
  sizes[heads] = queries.size(-3);
  return b.reshape(b.expand(b.unsqueeze(keys, heads + 1), grown), sizes);
}

/// With the weights written out: some are dropped, or there is no kernel for so many features as a call decides, or
/// none.
static T attendByParts(B &b, T q, T k, T v, OptT mask, T scale, const Options &options) {
  T scores = b.matmul(q, b.transpose(repeatHeads(b, k, q), -2, -1)) * scale;
  Shape sizes = scores.sizes();
  ShapeRef matrix = ShapeRef(sizes).take_back(2);
  constexpr double kExcluded = -std::numeric_limits<double>::infinity();
  if (options.isCausal)
    scores = b.where(b.iota(matrix, 1, b.i64()) <= b.iota(matrix, 0, b.i64()), scores, kExcluded);
  if (mask)
    scores = isBool(mask->dtype()) ? b.where(*mask, scores, kExcluded) : scores + *mask;
  T highest = b.max(scores, {-1}, true), weights = softmax(b, scores, -1);
  weights = b.where(highest == kExcluded, 0.0, weights); // a row with everything excluded
  if (options.dropout != 0)
    weights = dropout(b, weights, options.dropout, true).result;
  weights = b.to(weights, v.dtype());
  return b.matmul(weights, repeatHeads(b, v, q));
}

static T attend(B &b, T q, T k, T v, OptT mask, Options options) {
  auto features = getConstant(q.size(-1)), valueFeatures = getConstant(v.size(-1));
  // Scores of no features are 0, which no scale may make NaN.
  T scale = options.scale ? T(*options.scale)
            : features    ? T(1 / std::sqrt(std::max(1.0, double(*features))))
                          : b.rsqrt(b.maximum(b.tensor(T(q.size(-1)), b.f64()), 1.0));
  while (q.rank() < std::max<int64_t>(std::max(k.rank(), v.rank()), 3))
    q = b.unsqueeze(q, 0);
  Shape sizes = q.sizes();
  for (int64_t d = 0; d < q.rank() - 2; ++d) // queries may be fewer, too
    if (b.isOne(sizes[d]) && k.rank() == q.rank())
      sizes[d] = k.size(d);
  q = b.expand(q, sizes);
  if (mask)
    while (mask->rank() < q.rank())
      mask = b.unsqueeze(*mask, 0);
  k = alignKeys(b, k, q), v = alignKeys(b, v, q);
  T result;
  if (options.dropout != 0)
    result = attendByParts(b, q, k, v, mask, scale, options);
  else if (features.value_or(0) && valueFeatures.value_or(0))
    result = b.attention(q, k, v, mask, scale.real(), options.isCausal, b.hasNote(aten::kEmptyIsNanNote));
  else // sums and scores of half types in float32, as the kernel has them
    result = b.to(attendByParts(b, b.toOpmath(q), b.toOpmath(k), b.toOpmath(v), mask, scale, options), q.dtype());
  return b.reshape(result, b.declared());
}

// Only the attention itself is computed; a graph that reads log-sum-exp or
// random states is refused.
void addAttention(Table &t) {
  t.def("scaled_dot_product_attention", [](B &b, T q, T k, T v, OptT mask, double dropout, bool causal,
                                           std::optional<double> scale, bool) {
    return attend(b, q, k, v, mask, {dropout, causal, scale});
  });
  t.def("_scaled_dot_product_attention_math",
        [](B &b, T q, T k, T v, OptT mask, double dropout, bool causal, Any, std::optional<double> scale, bool) {
          return TList{attend(b, q, k, v, mask, {dropout, causal, scale}), T()};
        });
  t.def("_scaled_dot_product_flash_attention_for_cpu",
        [](B &b, T q, T k, T v, double dropout, bool causal, OptT mask, std::optional<double> scale) {
          return TList{attend(b, q, k, v, mask, {dropout, causal, scale}), T()};
        });
  t.def("_scaled_dot_product_flash_attention",
        [](B &b, T q, T k, T v, double dropout, bool causal, bool, std::optional<double> scale) {
          return TList{attend(b, q, k, v, {}, {dropout, causal, scale})};
        });
  t.def("_scaled_dot_product_efficient_attention",
        [](B &b, T q, T k, T v, OptT mask, bool, double dropout, bool causal, std::optional<double> scale) {
          return TList{attend(b, q, k, v, mask, {dropout, causal, scale})};
        });
  t.def("_scaled_dot_product_cudnn_attention",
        [](B &b, T q, T k, T v, OptT mask, bool, double dropout, bool causal, bool, std::optional<double> scale) {
          return TList{attend(b, q, k, v, mask, {dropout, causal, scale})};
        });
  t.def("_scaled_dot_product_fused_attention_overrideable",
        [](B &b, T q, T k, T v, OptT mask, double dropout, bool causal, bool, std::optional<double> scale) {
          return TList{attend(b, q, k, v, mask, {dropout, causal, scale})};
        });
}

} // namespace ptc::decompose
