//===- Attention.cpp - attention and what goes with it ------------------------------===//

#include "compiler/import/onnx/Heads.h"
#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// Keys that the mask does not reach are not seen.
Value padMask(Builder &b, const Value &mask, AffineExpr length) {
  AffineExpr missing = length - b.size(mask, -1);
  if (getConstant(missing).value_or(0) <= 0)
    return mask;
  Arg fill = b.isBool(mask) ? Arg(false) : Arg(-INFINITY);
  return b.call("constant_pad_nd.default", {mask, Shape{b.constant(0), missing}, fill});
}

Values attention(Builder &b, const Node &n) {
  Value q = n[0], k = n[1], v = n[2];
  bool isFlat = b.rank(q) == 3;
  if (isFlat) {
    int64_t heads = n.integer("q_num_heads", 0), pairs = n.integer("kv_num_heads", 0);
    q = splitHeads(b, q, heads);
    k = splitHeads(b, k, pairs);
    v = splitHeads(b, v, pairs);
  }
  if (b.hasFailed() || b.rank(q) != 4 || b.rank(k) != 4 || b.rank(v) != 4)
    return {b.fail("needs operands of three or four dimensions")};
  AffineExpr offset = b.constant(0);
  if (n.has(4)) {
    offset = b.size(n[4], 2);
    k = b.cat({n[4], k}, 2);
    v = b.cat({n[5], v}, 2);
  }
  Value presentKey = k, presentValue = v;
  int64_t heads = b.staticSize(q, 1), pairs = b.staticSize(k, 1);
  if (b.hasFailed() || pairs == 0 || heads % pairs)
    return {b.fail("the heads of the query are no multiple of those of the keys")};
  Type element = b.element(q);
  double scale = n.real("scale", 0);
  if (!n.hasAttribute("scale"))
    scale = 1 / std::sqrt(double(b.staticSize(q, 3)));
  double cap = n.real("softcap", 0);
  int64_t left = n.integer("left_window_size", -1), right = n.integer("right_window_size", -1);
  bool isCausal = n.integer("is_causal", 0), hasLengths = n.has(6);
  AffineExpr rows = b.size(q, 2), columns = b.size(k, 2);

  bool isPlain = cap == 0 && left < 0 && right < 0 && !hasLengths && !n.wants(3) &&
                 !n.hasAttribute("softmax_precision") && (element.isF32() || isHalf(element)) &&
                 !(isCausal && (n.has(3) || n.has(4)));
  if (isPlain) {
    Value mask = n.has(3) ? padMask(b, n[3], columns) : b.none();
    Shape sizes = b.shape(q);
    sizes[3] = b.size(v, 3);
    if (mask)
      mask = b.expand(mask, {sizes[0], sizes[1], rows, columns});
    Value y = b.call("scaled_dot_product_attention.default",
                     {q, repeatHeads(b, k, heads / pairs), repeatHeads(b, v, heads / pairs), mask, 0.0, isCausal,
                      named("scale", scale)},
                     makeTensorType(sizes, element));
    return {isFlat ? joinHeads(b, y) : y, presentKey, presentValue};
  }

  Bias bias(b, element);
  if (n.has(3)) {
    Value mask = padMask(b, n[3], columns);
    if (b.isBool(mask))
      bias.allow(mask);
    else
      bias.add(mask);
  }
  Value query = b.along(b.iota(rows, b.i64()), 0, 2), key = b.along(b.iota(columns, b.i64()), 1, 2);
  Value lengths = hasLengths
                      ? b.reshape(b.to(n[6], b.i64()), {b.size(n[6], 0), b.constant(1), b.constant(1), b.constant(1)})
                      : b.none();
  Value start = hasLengths && !n.has(4) ? lengths - b.size(rows, b.i64()) : b.size(offset, b.i64());
  if (isCausal)
    bias.allow(b.call("le.Tensor", {key, query + start}));
  if (left >= 0)
    bias.allow(b.call("le.Scalar", {query + start - key, left}));
  if (right >= 0)
    bias.allow(b.call("le.Scalar", {key - (query + start), right}));
  if (hasLengths)
    bias.allow(key < lengths);

  double root = std::sqrt(scale);
  Value keys = b.permute(repeatHeads(b, k, heads / pairs), {0, 1, 3, 2});
  Value scores = b.matmul(q * root, keys * root), seen = scores;
  if (cap > 0)
    scores = seen = b.call("tanh.default", {scores / cap}) * cap;
  if (bias.value)
    scores = scores + bias.value;
  int64_t mode = n.integer("qk_matmul_output_mode", 0);
  if (mode == 2)
    seen = scores;
  Type precise = n.elementType("softmax_precision");
  Value probabilities = b.call("softmax.int", {precise ? b.to(scores, precise) : scores, -1});
  if (bias.value) {
    // A query that sees no key answers zero.
    Value blind = b.call("eq.Scalar", {b.amax(bias.value, {b.rank(bias.value) - 1}, true), -INFINITY});
    probabilities = b.where(blind, b.full({}, 0, b.element(probabilities)), probabilities);
  }
  if (mode == 3)
    seen = b.to(probabilities, element);
  Value y = b.matmul(b.to(probabilities, element), repeatHeads(b, v, heads / pairs));
  return {isFlat ? joinHeads(b, y) : y, presentKey, presentValue, seen};
}

Value rotaryEmbedding(Builder &b, const Node &n) {
  Value x = n[0], cosine = n[1], sine = n[2];
  bool isFlat = b.rank(x) == 3;
  if (isFlat)
    x = splitHeads(b, x, n.integer("num_heads", 0));
  if (b.hasFailed() || b.rank(x) != 4)
    return b.fail("needs an operand of three or four dimensions");
  int64_t width = b.staticSize(x, 3), turned = n.integer("rotary_embedding_dim", 0);
  turned = turned ? turned : width;
  if (turned > width || turned % 2 || turned < 0)
    return b.fail("rotary_embedding_dim must be even, and no more than " + llvm::Twine(width));
  if (n.has(3)) {
    cosine = rowsAt(b, cosine, n[3]);
    sine = rowsAt(b, sine, n[3]);
  }
  Value result = rotate(b, x, cosine, sine, turned, n.integer("interleaved", 0));
  return isFlat ? joinHeads(b, result) : result;
}

/// A state that every step updates, written out.
Values linearAttention(Builder &b, const Node &n) {
  int64_t heads = n.integer("q_num_heads", 0), pairs = n.integer("kv_num_heads", 0);
  if (heads <= 0 || pairs <= 0 || heads % pairs)
    return {b.fail("q_num_heads must be a multiple of kv_num_heads")};
  auto wide = [&](const Value &x, int64_t count) { return b.to(splitHeads(b, x, count), b.f32()); };
  Value q = wide(n[0], heads), k = wide(n[1], pairs), v = wide(n[2], pairs);
  std::string rule = n.text("update_rule", "gated_delta");
  bool gates = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (b.hasFailed())
    return {q};
  double scale = n.real("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(double(b.staticSize(q, 3)));
  Value decay = gates ? b.call("exp.default", {wide(n[4], pairs)}) : b.none();
  Value rate = corrects ? wide(n[5], b.staticSize(n[5], 2)) : b.none();
  Shape sizes{b.size(q, 0), b.constant(pairs), b.size(k, 3), b.size(v, 3)};
  Value state = n.has(3) ? b.to(n[3], b.f32()) : b.full(sizes, 0, b.f32());
  int64_t steps = b.staticSize(q, 2);
  if (steps > kMostWritten)
    return {b.fail("more than " + llvm::Twine(kMostWritten) + " steps are not supported")};
  Values outputs;
  for (int64_t t = 0; t < steps && !b.hasFailed(); ++t) {
    auto at = [&](const Value &x) { return b.slice(x, 2, b.constant(t), b.constant(t + 1)); };
    Value key = b.permute(at(k), {0, 1, 3, 2}), value = at(v);
    if (gates)
      state = state * b.permute(at(decay), {0, 1, 3, 2});
    if (corrects)
      value = at(rate) * (value - b.matmul(at(k), state));
    state = state + key * value;
    outputs.push_back(b.matmul(at(q), repeatHeads(b, state, heads / pairs)) * scale);
  }
  if (outputs.empty())
    return {b.fail("a sequence of no steps")};
  Value y = joinHeads(b, b.cat(outputs, 2));
  return {b.to(y, b.element(n[0])), b.to(state, b.element(n.has(3) ? n[3] : n[0]))};
}

Values causalConvolution(Builder &b, const Node &n) {
  Value x = n[0], w = n[1];
  if (b.rank(x) != 3 || b.rank(w) != 3)
    return {b.fail("needs operands of three dimensions")};
  int64_t kernel = b.staticSize(w, 2), channels = b.staticSize(x, 1);
  Shape sizes = b.shape(x);
  sizes[2] = b.constant(kernel - 1);
  Value before = n.has(3) ? n[3] : b.full(sizes, 0, b.element(x));
  Value padded = b.cat({before, x}, 2);
  Value y = b.call("convolution.default", {padded, w, n.input(2), Ints{1}, Ints{0}, Ints{1}, false, Ints{0}, channels});
  std::string activation = n.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = b.call("silu.default", {y});
  else if (activation != "none")
    return {b.fail("activation '" + activation + "' is not known")};
  AffineExpr length = b.size(padded, 2);
  return {y, b.slice(padded, 2, length - (kernel - 1), length)};
}

} // namespace

void addAttention(Table &t) {
  t.rows("Attention", attention);
  t.row("RotaryEmbedding", rotaryEmbedding);
  t.rows("LinearAttention", linearAttention);
  t.rows("CausalConvWithState", causalConvolution);
}

} // namespace ptc::import::onnx
