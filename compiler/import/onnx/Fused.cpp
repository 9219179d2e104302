//===- Fused.cpp - operators that ONNX Runtime's optimizer makes of several ---------===//
//
// Of the domain com.microsoft, as its docs/ContribOperators.md describes them.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Heads.h"
#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Value geluOf(Builder &b, const Value &x, const char *approximate) {
  return b.call("gelu.default", {x, named("approximate", approximate)});
}

//===----------------------------------------------------------------------===//
// Products and convolutions
//===----------------------------------------------------------------------===//

/// The activation that an operator ends with, by its name in attribute "activation".
Value activate(Builder &b, const Node &n, const Value &x, llvm::ArrayRef<double> parameters) {
  std::string name = n.text("activation", "");
  auto parameter = [&](size_t i, double otherwise) { return i < parameters.size() ? parameters[i] : otherwise; };
  if (name.empty())
    return x;
  if (name == "Relu" || name == "Sigmoid" || name == "Tanh")
    return b.call(llvm::StringRef(name).lower() + ".default", {x});
  if (name == "LeakyRelu")
    return b.call("leaky_relu.default", {x, parameter(0, 0.01)});
  if (name == "Clip")
    return b.clamp(x, parameter(0, -INFINITY), parameter(1, INFINITY));
  if (name == "HardSigmoid")
    return b.clamp(x * parameter(0, 0.2) + parameter(1, 0.5), 0, 1);
  return b.fail("activation '" + name + "' is not known");
}

Value convolve(Builder &b, const Node &n, bool channelsLast) {
  Value y = withChannelsFirst(
      b, n[0], channelsLast, [&](const Value &x) { return buildAs(b, "Conv", n.with({x, n[1], n.input(2)})).front(); });
  return activate(b, n, plusBias(y, n.input(3)), n.reals("activation_params").value_or(llvm::SmallVector<double>()));
}

Value gemm(Builder &b, const Node &n) {
  llvm::SmallVector<double> parameters;
  for (const char *name : {"activation_alpha", "activation_beta"})
    if (n.hasAttribute(name))
      parameters.push_back(n.real(name, 0));
  return activate(b, n, buildAs(b, "Gemm", n).front(), parameters);
}

Value multiply(Builder &b, const Node &n) {
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return b.fail("attributes 'transBatchA' and 'transBatchB' are not supported");
  auto operand = [&](unsigned i, const char *attribute) {
    int64_t rank = b.rank(n[i]);
    if (!n.integer(attribute, 0) || rank < 2)
      return n[i];
    Ints order;
    for (int64_t d = 0; d < rank; ++d)
      order.push_back(d);
    std::swap(order[rank - 2], order[rank - 1]);
    return b.permute(n[i], order);
  };
  Value y = b.matmul(operand(0, "transA"), operand(1, "transB"));
  double alpha = n.real("alpha", 1);
  return alpha == 1 ? y : y * alpha;
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// The sum of x, what skipped a layer and a bias, as the type of x.
Value sumWithSkip(const Node &n, unsigned bias) { return plusBias(n[0] + n[1], n.input(bias)); }

Value layerNorm(Builder &b, const Node &n, const Value &x, const Value &scale, const Value &shift) {
  return b.call("layer_norm.default", {x, b.shape(scale), scale, shift, n.real("epsilon", 1e-12f)});
}

/// Mean and deviation, which training would keep, are not answered.
Values skipLayerNorm(Builder &b, const Node &n) {
  Value sum = sumWithSkip(n, 4);
  return {layerNorm(b, n, sum, n[2], n.input(3)), b.none(), b.none(), sum};
}

Values skipRmsNorm(Builder &b, const Node &n) {
  Value sum = sumWithSkip(n, 3), wide = b.toOpmath(sum);
  Value mean = b.call("mean.dim", {wide * wide, Ints{b.rank(sum) - 1}, true});
  Value y = wide * b.call("rsqrt.default", {mean + n.real("epsilon", 1e-12f)});
  return {b.to(y, b.element(sum)) * n[2], b.none(), b.none(), sum};
}

Values embedLayerNorm(Builder &b, const Node &n) {
  Value words = n[0];
  if (b.rank(words) != 2)
    return {b.fail("needs words of two dimensions")};
  Value sum = rowsAt(b, n[2], words);
  sum = sum + (n.has(8) ? rowsAt(b, n[3], n[8]) : rowsAt(b, n[3], b.iota(b.size(words, 1), b.i64())));
  if (n.has(1))
    sum = sum + rowsAt(b, n[4], n[1]);
  Value counted = n.has(7) ? b.sum(b.to(b.call("eq.Scalar", {n[7], 1}), b.i32()), Ints{1}, false)
                           : b.full(b.size(words, 0), 0, b.i32());
  return {layerNorm(b, n, sum, n[5], n[6]), counted, sum};
}

/// Channels are the last dimension unless it says that they are not.
Value groupNorm(Builder &b, const Node &n, const Value &input) {
  Type element = b.element(input);
  return withChannelsFirst(b, input, n.integer("channels_last", 1), [&](const Value &x) {
    Value y = b.call("group_norm.default",
                     {x, n.integer("groups", 1), b.to(n[1], element), b.to(n[2], element), n.real("epsilon", 1e-5f)});
    return n.integer("activation", 0) ? b.call("silu.default", {y}) : y;
  });
}

Values skipGroupNorm(Builder &b, const Node &n) {
  // One number a channel, or one a channel of every image: [images, channels], or with dimensions of 1 between or
  // behind.
  Value skip = n[3];
  Shape sizes = b.shape(n[0]), few = b.shape(skip);
  if (few.size() == 2 && sizes.size() == 4) {
    AffineExpr one = b.constant(1);
    bool channelsLast = n.integer("channels_last", 1);
    skip = b.reshape(skip, channelsLast ? Shape{few[0], one, one, few[1]} : Shape{few[0], few[1], one, one});
  }
  Value sum = n[0] + skip;
  if (n.has(4))
    sum = sum + (n.integer("channels_last", 1) ? n[4] : b.along(n[4], 1, b.rank(sum)));
  return {groupNorm(b, n, sum), sum};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// Half of the features, times the GELU of the other half.
Value biasSplitGelu(Builder &b, const Node &n) {
  Value x = n[0] + n[1];
  int64_t last = b.rank(x) - 1;
  AffineExpr width = b.size(x, last), half = b.constant(b.staticSize(x, last) / 2);
  return b.slice(x, last, b.constant(0), half) * geluOf(b, b.slice(x, last, half, width), "none");
}

} // namespace

void addFused(Table &t) {
  t.row("com.microsoft.FusedConv", [](Builder &b, const Node &n) { return convolve(b, n, false); });
  t.row("com.microsoft.NhwcConv com.microsoft.NhwcFusedConv",
        [](Builder &b, const Node &n) { return convolve(b, n, true); });
  t.row("com.microsoft.NhwcMaxPool", [](Builder &b, const Node &n) {
    return withChannelsFirst(b, n[0], true, [&](const Value &x) { return buildAs(b, "MaxPool", n.with({x})).front(); });
  });
  t.row("com.microsoft.FusedGemm", gemm);
  t.row("com.microsoft.FusedMatMul com.microsoft.TransposeMatMul", multiply);
  t.row("com.microsoft.FusedMatMulActivation",
        [](Builder &b, const Node &n) { return activate(b, n, multiply(b, n), {}); });

  t.rows("com.microsoft.SkipLayerNormalization", skipLayerNorm);
  t.rows("com.microsoft.SkipSimplifiedLayerNormalization", skipRmsNorm);
  t.rows("com.microsoft.EmbedLayerNormalization", embedLayerNorm);
  t.row("com.microsoft.GroupNorm", [](Builder &b, const Node &n) { return groupNorm(b, n, n[0]); });
  t.rows("com.microsoft.SkipGroupNorm", skipGroupNorm);

  t.row("com.microsoft.BiasGelu", [](Builder &b, const Node &n) { return geluOf(b, n[0] + n[1], "none"); });
  t.row("com.microsoft.FastGelu",
        [](Builder &b, const Node &n) { return geluOf(b, plusBias(n[0], n.input(1)), "tanh"); });
  t.row("com.microsoft.Gelu", [](Builder &b, const Node &n) { return geluOf(b, n[0], "none"); });
  t.row("com.microsoft.GemmFastGelu",
        [](Builder &b, const Node &n) { return geluOf(b, plusBias(b.matmul(n[0], n[1]), n.input(2)), "tanh"); });
  t.row("com.microsoft.QuickGelu",
        [](Builder &b, const Node &n) { return n[0] * b.call("sigmoid.default", {n[0] * n.real("alpha", 1.702f)}); });
  t.row("com.microsoft.BiasSplitGelu", biasSplitGelu);
  t.row("com.microsoft.BiasAdd", [](Builder &b, const Node &n) { return n[0] + n[1] + n[2]; });
  t.row("com.microsoft.Inverse", [](Builder &b, const Node &n) { return b.call("linalg_inv.default", {n[0]}); });
  // The same as ONNX's own by now.
  for (llvm::StringRef name : {"GatherND", "Pad", "Range", "Trilu", "QuantizeLinear", "DequantizeLinear"})
    t.rows(("com.microsoft." + name).str(), [name](Builder &b, const Node &n) { return buildAs(b, name, n); });
}

} // namespace ptc::import::onnx
