//===- Attention.cpp ------------------------------------------------------===//

#include "compiler/graph/decompose/Table.h"

#include <cmath>

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

static T attend(B &b, T q, T k, T v, OptT mask, Options options) {
  if (options.dropout != 0)
    return b.unsupported("dropout needs random numbers: export the model after model.eval()");
  auto features = getConstant(q.size(-1));
  if (!features && !options.scale)
    return b.unsupported("the number of features must be known at compile time");
  double scale = options.scale ? *options.scale : 1 / std::sqrt(double(*features));
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
  T result = b.attention(q, alignKeys(b, k, q), alignKeys(b, v, q), mask, scale, options.isCausal);
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
