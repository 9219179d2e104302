#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Value mean(Builder &b, const Value &x, Ints dims) { return b.call("mean.dim", {x, dims, true}); }

Value rsqrt(Builder &b, const Value &x) { return b.call("rsqrt.default", {x}); }

Values batchNorm(Builder &b, const Node &n) {
  Value x = n[0], scale = n[1], shift = n[2], mean = n[3], variance = n[4];
  double epsilon = n.real("epsilon", 1e-5f), momentum = n.real("momentum", 0.9f);
  int64_t rank = b.rank(x);
  if (!n.integer("training_mode", 0)) {
    if (n.wants(1))
      return {b.fail("outputs that are for training, in an operator that does not train")};
    return {b.call("batch_norm.default", {x, scale, shift, mean, variance, false, 1 - momentum, epsilon, false})};
  }
  Ints dims = llvm::to_vector(llvm::seq(rank));
  if (rank > 1)
    dims.erase(dims.begin() + 1);
  Value wide = b.toOpmath(x);
  Value now = ptc::import::onnx::mean(b, wide, dims), centered = wide - now;
  Value spread = ptc::import::onnx::mean(b, centered * centered, dims);
  auto channel = [&](const Value &v) { return b.along(b.to(v, b.element(wide)), 1, rank); };
  Value y = centered * rsqrt(b, spread + epsilon) * channel(scale) + channel(shift);
  auto running = [&](const Value &before, const Value &value) {
    return before * momentum + b.to(b.reshape(value, b.shape(before)), b.element(before)) * (1 - momentum);
  };
  return {b.to(y, b.element(x)), running(mean, now), running(variance, spread)};
}

/// Normalised over `dims`, in float32 or wider; the mean and 1 / deviation too.
std::tuple<Value, Value, Value> normalise(Builder &b, const Value &x, Ints dims, double epsilon) {
  Value middle = mean(b, x, dims), centered = x - middle;
  Value inverse = rsqrt(b, mean(b, centered * centered, dims) + epsilon);
  return {centered * inverse, middle, inverse};
}

Values layerNorm(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x), axis = b.dim(n.integer("axis", -1), rank);
  double epsilon = n.real("epsilon", 1e-5f);
  if (b.hasFailed())
    return {x};
  Shape sizes = b.shape(x), normalised(sizes.begin() + axis, sizes.end());
  bool isPlain = !n.wants(1) && !n.wants(2) && n.has(1) && b.shape(n[1]) == normalised &&
                 (!n.has(2) || b.shape(n[2]) == normalised);
  if (isPlain)
    return {b.call("layer_norm.default", {x, normalised, n[1], n.input(2), epsilon})};
  auto [y, middle, inverse] = normalise(b, b.toOpmath(x), llvm::to_vector(llvm::seq(axis, rank)), epsilon);
  y = b.to(y, b.element(x));
  if (n.has(1))
    y = y * n[1];
  if (n.has(2))
    y = y + n[2];
  return {y, middle, inverse};
}

Value rmsNorm(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x), axis = b.dim(n.integer("axis", -1), rank);
  if (b.hasFailed())
    return x;
  Value wide = b.toOpmath(x);
  Value inverse = rsqrt(b, mean(b, wide * wide, llvm::to_vector(llvm::seq(axis, rank))) + n.real("epsilon", 1e-5f));
  Value y = b.to(wide * inverse, b.element(x));
  return n.has(1) ? y * n[1] : y;
}

Value instanceNorm(Builder &b, const Node &n) {
  return b.call("instance_norm.default",
                {n[0], n[1], n[2], b.none(), b.none(), true, 0.0, n.real("epsilon", 1e-5f), false});
}

/// Up to opset 20 scale and bias are one a group, then one a channel.
Value groupNorm(Builder &b, const Node &n) {
  Value x = n[0], scale = n[1], shift = n[2];
  int64_t groups = n.integer("num_groups", 1), channels = b.staticSize(x, 1);
  if (groups <= 0 || channels % groups)
    return b.fail(llvm::Twine(channels) + " channels in " + llvm::Twine(groups) + " groups");
  auto each = [&](const Value &v) {
    if (n.opset >= 21 || groups == channels)
      return v;
    Value repeated = b.expand(b.reshape(v, {b.constant(groups), b.constant(1)}),
                              {b.constant(groups), b.constant(channels / groups)});
    return b.reshape(repeated, b.constant(channels));
  };
  return b.call("group_norm.default", {x, groups, each(scale), each(shift), n.real("epsilon", 1e-5f)});
}

/// Sums of squares over channels nearby.
Value lrn(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t size = n.integer("size", 1), before = (size - 1) / 2, after = size - 1 - before;
  if (b.rank(x) < 2 || size < 1 || size > kMostWritten)
    return b.fail("needs channels, and a size of 1 to " + llvm::Twine(kMostWritten));
  Ints pads(2 * (b.rank(x) - 1), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = after;
  Value squares = b.call("constant_pad_nd.default", {x * x, pads});
  Value total;
  for (int64_t i = 0; i < size && !b.hasFailed(); ++i) {
    Value part = b.slice(squares, 1, b.constant(i), b.size(x, 1) + i);
    total = i == 0 ? part : total + part;
  }
  Value scale = total * (n.real("alpha", 1e-4f) / size) + n.real("bias", 1);
  return x / b.call("pow.Tensor_Scalar", {scale, n.real("beta", 0.75)});
}

Value lpNormalization(Builder &b, const Node &n) {
  Ints dims{b.dim(n.integer("axis", -1), b.rank(n[0]))};
  Value norm = n.integer("p", 2) == 1
                   ? b.sum(b.call("abs.default", {n[0]}), dims, true)
                   : b.call("sqrt.default", {b.sum(n[0] * n[0], dims, true)});
  // What is zero throughout stays so.
  return n[0] / b.where(b.call("eq.Scalar", {norm, 0}), b.full({}, 1, b.element(n[0])), norm);
}

Value meanVariance(Builder &b, const Node &n) {
  Ints dims = b.dims(n.ints("axes").value_or(Ints{0, 2, 3}), b.rank(n[0]));
  Value centered = n[0] - mean(b, n[0], dims);
  Value deviation = b.call("sqrt.default", {mean(b, centered * centered, dims)});
  return centered / (deviation + 1e-9);
}

} // namespace

void addNormalization(Table &t) {
  t.rows("BatchNormalization", batchNorm);
  t.rows("LayerNormalization", layerNorm);
  t.row("RMSNormalization SimplifiedLayerNormalization", rmsNorm);
  t.row("InstanceNormalization", instanceNorm);
  t.row("GroupNormalization", groupNorm);
  t.row("LRN", lrn);
  t.row("LpNormalization", lpNormalization);
  t.row("MeanVarianceNormalization", meanVariance);
}

} // namespace ptc::import::onnx
