//===- FusedAttention.cpp - attention as ONNX Runtime's own tools write it ----------===//
//
// Operators of the domain com.microsoft, which ONNX Runtime's optimizer and its
// model builders make. What they mean is said in its docs/ContribOperators.md.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Heads.h"
#include "compiler/import/onnx/Quantization.h"
#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// Fails where one of these attributes asks for what no row here does.
bool asksForMore(Builder &b, const Node &n, llvm::ArrayRef<llvm::StringRef> names) {
  for (llvm::StringRef name : names)
    if (n.integer(name, 0) != 0 || n.real(name, 0) != 0)
      b.fail("attribute '" + name + "' is not supported");
  return b.hasFailed();
}

/// Fails where one of these inputs is there, which no row here takes.
bool takesMore(Builder &b, const Node &n, unsigned first, llvm::ArrayRef<llvm::StringRef> names) {
  for (auto [i, name] : llvm::enumerate(names))
    if (n.has(first + i))
      b.fail("input '" + name + "' is not supported");
  return b.hasFailed();
}

double scaleOfScores(Builder &b, const Node &n, const Value &q) {
  double scale = n.real("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(double(b.staticSize(q, 3)));
}

/// softmax(scale * q k^T + bias) v, all of them [batch, heads, length, size]. Of a causal one, the keys before the
/// first query's own are `past` many.
Value attend(Builder &b, const Value &q, const Value &k, const Value &v, Bias bias, double scale, bool isCausal,
             AffineExpr past) {
  AffineExpr rows = b.size(q, 2), columns = b.size(k, 2);
  if (isCausal && (bias.value || getConstant(past) != 0)) {
    Value query = b.along(b.iota(rows, b.i64()), 0, 2), key = b.along(b.iota(columns, b.i64()), 1, 2);
    bias.allow(b.call("le.Tensor", {key, query + b.size(past, b.i64())}));
    isCausal = false;
  }
  Shape sizes = b.shape(q);
  if (b.hasFailed() || sizes.size() != 4)
    return b.fail("needs queries of four dimensions");
  Value mask = bias.value ? b.expand(bias.value, {sizes[0], sizes[1], rows, columns}) : b.none();
  sizes[3] = b.size(v, 3);
  return b.call("scaled_dot_product_attention.default", {q, k, v, mask, 0.0, isCausal, named("scale", scale)},
                makeTensorType(sizes, b.element(q)));
}

/// The padding among keys: their number in each sequence; the end of each and then the start of each; or a number for
/// every key (of every query), positive where it counts. To the scores of padding mask_filter_value is added.
void lowerPadding(Builder &b, const Node &n, const Value &mask, const Value &q, const Value &k, Bias &bias) {
  AffineExpr batch = b.size(q, 0), one = b.constant(1);
  double by = n.real("mask_filter_value", -10000);
  int64_t rank = b.rank(mask);
  if (rank == 2 || rank == 3) {
    Value counts = b.call("gt.Scalar", {mask, 0});
    bias.lower(b.unsqueeze(rank == 2 ? b.unsqueeze(counts, 1) : counts, 1), by);
    return;
  }
  if (rank != 1) {
    b.fail("a mask of " + llvm::Twine(rank) + " dimensions is not supported");
    return;
  }
  Value key = b.iota(b.size(k, 2), b.i64());
  auto ofSequences = [&](const Value &x) { return b.reshape(b.to(x, b.i64()), {batch, one, one, one}); };
  bool hasStarts = isEqual(b.size(mask, 0), batch * 2);
  Value ends = ofSequences(hasStarts ? b.slice(mask, 0, b.constant(0), batch) : mask);
  Value counts = key < ends;
  if (hasStarts)
    counts = counts & b.call("ge.Tensor", {key, ofSequences(b.slice(mask, 0, batch, batch * 2))});
  bias.lower(counts, by);
}

/// Of queries, keys and values side by side [batch, length, widths]; `past` is keys and values [2, batch, heads,
/// length, size].
Values attendProjected(Builder &b, const Node &n, const Value &projected, const Value &mask, const Value &past,
                       const Value &added) {
  if (b.hasFailed() || b.rank(projected) != 3)
    return {b.fail("needs an operand of three dimensions")};
  int64_t width = b.staticSize(projected, 2), at = 0;
  Ints widths = n.ints("qkv_hidden_sizes").value_or(Ints(3, width / 3));
  if (widths.size() != 3 || llvm::any_of(widths, [](int64_t w) { return w <= 0; }) ||
      widths[0] + widths[1] + widths[2] != width)
    return {b.fail("qkv_hidden_sizes do not make " + llvm::Twine(width))};
  Values heads;
  for (int64_t w : widths) {
    Value part = b.slice(projected, 2, b.constant(at), b.constant(at + w));
    heads.push_back(splitHeads(b, part, n.integer("num_heads", 0)));
    at += w;
  }
  Value q = heads[0], k = heads[1], v = heads[2];
  AffineExpr length = b.constant(0);
  if (past) {
    length = b.size(past, 3);
    k = b.cat({b.select(past, 0, 0), k}, 2);
    v = b.cat({b.select(past, 0, 1), v}, 2);
  }
  if (b.hasFailed())
    return {q};
  Bias bias(b, b.element(q));
  if (mask)
    lowerPadding(b, n, mask, q, k, bias);
  if (added)
    bias.add(added);
  Value y = attend(b, q, k, v, bias, scaleOfScores(b, n, q), n.integer("unidirectional", 0), length);
  Value present = n.wants(1) ? b.cat({b.unsqueeze(k, 0), b.unsqueeze(v, 0)}, 0) : b.none();
  return {joinHeads(b, y), present};
}

Values attentionOfInput(Builder &b, const Node &n) {
  if (asksForMore(b, n, {"do_rotary", "past_present_share_buffer"}) || takesMore(b, n, 6, {"past_sequence_length"}))
    return {b.none()};
  Value projected = b.matmul(n[0], n[1]);
  return attendProjected(b, n, plusBias(projected, n.input(2)), n.input(3), n.input(4), n.input(5));
}

Values attentionOfBytes(Builder &b, const Node &n) {
  if (asksForMore(b, n, {"do_rotary", "past_present_share_buffer"}))
    return {b.none()};
  Value projected = multiplyDequantized(b, n[0], n[3], n.input(6), n[1], n[4], n.input(7)) + n[2];
  return attendProjected(b, n, projected, n.input(5), n.input(8), b.none());
}

Values multiHeadAttention(Builder &b, const Node &n) {
  if (takesMore(b, n, 8, {"past_sequence_length", "cache_indirection"}))
    return {b.none()};
  auto flat = [&](const Value &x) {
    Shape s = b.shape(x);
    return s.size() == 4 ? b.reshape(x, {s[0], s[1], s[2] * s[3]}) : b.fail("packed operands have five dimensions");
  };
  Values parts{n[0], n.input(1), n.input(2)};
  if (!parts[1]) // All are in the query: [batch, length, heads, 3, size].
    parts = {flat(b.select(n[0], 3, 0)), flat(b.select(n[0], 3, 1)), flat(b.select(n[0], 3, 2))};
  else if (!parts[2]) // The values are in the keys: [batch, length, heads, 2, size].
    parts = {n[0], flat(b.select(n[1], 3, 0)), flat(b.select(n[1], 3, 1))};
  int64_t at = 0;
  for (Value &part : parts) {
    if (b.hasFailed() || b.rank(part) == 4) // Keys and values of another sequence are projected and split already.
      continue;
    int64_t width = b.staticSize(part, 2);
    if (n.has(3))
      part = part + b.slice(n[3], 0, b.constant(at), b.constant(at + width));
    part = splitHeads(b, part, n.integer("num_heads", 0));
    at += width;
  }
  Value q = parts[0], k = parts[1], v = parts[2];
  AffineExpr past = b.constant(0);
  if (n.has(6)) {
    past = b.size(n[6], 2);
    k = b.cat({n[6], k}, 2);
    v = b.cat({n[7], v}, 2);
  }
  if (b.hasFailed())
    return {q};
  Bias bias(b, b.element(q));
  if (n.has(4))
    lowerPadding(b, n, n[4], q, k, bias);
  if (n.has(5))
    bias.add(n[5]);
  Value y = attend(b, q, k, v, bias, scaleOfScores(b, n, q), n.integer("unidirectional", 0), past);
  return {joinHeads(b, y), k, v};
}

/// Keys or values with those of the past before them, which are as many as `before` says of each sequence; what is
/// behind a sequence's own is of no meaning.
Value behindPast(Builder &b, const Value &past, const Value &x, const Value &before) {
  Value all = b.cat({past, x}, 2);
  if (!before)
    return all;
  Shape sizes = b.shape(all);
  Value place = b.along(b.iota(sizes[2], b.i64()), 2, 4);
  Value shifted = place - before + b.size(b.size(past, 2), b.i64());
  Value from = b.where(place < before, place, b.call("minimum.default", {shifted, b.size(sizes[2] - 1, b.i64())}));
  return b.call("gather.default", {all, 2, b.expand(from, sizes)});
}

Values groupQueryAttention(Builder &b, const Node &n) {
  int64_t heads = n.integer("num_heads", 0), pairs = n.integer("kv_num_heads", 0);
  if (heads <= 0 || pairs <= 0 || heads % pairs)
    return {b.fail("num_heads must be a multiple of kv_num_heads")};
  bool isWindow = n.integer("local_window_size", -1) > 0;
  if (isWindow || n.text("k_quant_type", "NONE") != "NONE" || n.text("v_quant_type", "NONE") != "NONE")
    return {b.fail(isWindow ? "local_window_size is not supported" : "a quantized cache is not supported")};
  if (asksForMore(b, n, {"smooth_softmax", "softcap", "qk_output", "sliding_window_cache"}) ||
      takesMore(b, n, 11, {"head_sink", "k_scale", "v_scale", "q_norm_weight", "k_norm_weight"}))
    return {b.none()};
  Value q = n[0], k = n.input(1), v = n.input(2);
  if (!k) {
    int64_t width = b.staticSize(q, 2), size = width / (heads + 2 * pairs), first = heads * size;
    auto part = [&](int64_t from, int64_t count) {
      return b.slice(n[0], 2, b.constant(from), b.constant(from + count));
    };
    k = part(first, pairs * size);
    v = part(first + pairs * size, pairs * size);
    q = part(0, first);
  }
  q = splitHeads(b, q, heads);
  k = splitHeads(b, k, pairs);
  v = splitHeads(b, v, pairs);
  auto total = b.knownSizes(n[6]);
  if (b.hasFailed() || !total || total->size() != 1)
    return {b.fail("total_sequence_length must follow from sizes")};
  AffineExpr batch = b.size(q, 0), rows = b.size(q, 2), one = b.constant(1);
  AffineExpr past = n.has(3) ? b.size(n[3], 2) : b.constant(0);
  b.require(total->front(), past + rows); // No cache has more room than what is in it.

  // How many keys each sequence has before these; nothing where it is `past` of all.
  Value before;
  if (getConstant(past) != 0 && getConstant(batch) != 1) {
    Value earlier = b.to(n[5], b.i64()) + 1.0 - b.size(rows, b.i64());
    Value isFirst = b.call("eq.Scalar", {b.size(past, b.i64()), 0});
    before = b.reshape(b.where(isFirst, b.full({}, 0, b.i64()), earlier), {batch, one, one, one});
  }
  Value query = b.along(b.iota(rows, b.i64()), 2, 4);
  Value place = query + (before ? before : b.size(past, b.i64())); // [batch or 1, 1, rows, 1]
  if (n.integer("do_rotary", 0)) {
    Value at = n.has(9) ? n[9] : b.reshape(place, {b.size(place, 0), rows});
    Value cosine = rowsAt(b, n[7], at), sine = rowsAt(b, n[8], at);
    int64_t turned = 2 * b.staticSize(cosine, 2);
    bool alternates = n.integer("rotary_interleaved", 0);
    q = rotate(b, q, cosine, sine, turned, alternates);
    k = rotate(b, k, cosine, sine, turned, alternates);
  }
  if (n.has(3)) {
    k = behindPast(b, n[3], k, before);
    v = behindPast(b, n[4], v, before);
  }
  if (b.hasFailed())
    return {q};
  Bias bias(b, b.element(q));
  bool isCausal = n.integer("causal", 1);
  if (isCausal && before) {
    bias.allow(b.call("le.Tensor", {b.iota(b.size(k, 2), b.i64()), place}));
    isCausal = false;
  }
  if (n.has(10))
    bias.add(n[10]);
  Value y = attend(b, q, repeatHeads(b, k, heads / pairs), repeatHeads(b, v, heads / pairs), bias,
                   scaleOfScores(b, n, q), isCausal, past);
  return {joinHeads(b, y), k, v};
}

Value rotaryEmbedding(Builder &b, const Node &n) {
  Value x = n[0], ids = n[1], cosine = n[2], sine = n[3];
  if (asksForMore(b, n, {"is_packed_batching"}))
    return x;
  if (n.real("scale", 1) != 1)
    return b.fail("attribute 'scale' is not supported");
  bool isFlat = b.rank(x) == 3;
  int64_t turned = n.integer("rotary_embedding_dim", 0), heads = n.integer("num_heads", 0);
  turned = turned ? turned : 2 * b.staticSize(cosine, 1);
  if (isFlat && heads == 0 && !b.hasFailed())
    heads = b.staticSize(x, 2) / std::max<int64_t>(turned, 1);
  if (isFlat)
    x = splitHeads(b, x, heads);
  if (b.hasFailed() || b.rank(x) != 4)
    return b.fail("needs an operand of three or four dimensions");
  if (turned <= 0 || turned % 2 || turned > b.staticSize(x, 3))
    return b.fail("rotary_embedding_dim must be even, and no more than a head's size");
  // One number is where all sequences begin.
  Value at = b.rank(ids) == 1 ? b.unsqueeze(b.to(ids, b.i64()) + b.iota(b.size(x, 2), b.i64()), 0) : ids;
  Value y = rotate(b, x, rowsAt(b, cosine, at), rowsAt(b, sine, at), turned, n.integer("interleaved", 0));
  return isFlat ? joinHeads(b, y) : y;
}

} // namespace

void addFusedAttention(Table &t) {
  t.rows("com.microsoft.Attention", attentionOfInput);
  t.rows("com.microsoft.QAttention", attentionOfBytes);
  t.rows("com.microsoft.MultiHeadAttention", multiHeadAttention);
  t.rows("com.microsoft.GroupQueryAttention", groupQueryAttention);
  t.row("com.microsoft.RotaryEmbedding", rotaryEmbedding);
}

} // namespace ptc::import::onnx
