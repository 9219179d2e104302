#include "compiler/import/onnx/Quantization.h"

#include "compiler/import/onnx/Table.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {

Value shifted(Builder &b, const Value &x, const Value &zero, int64_t channel) {
  Value wide = b.to(x, b.i32());
  if (!zero)
    return wide;
  Value point = b.to(zero, b.i32());
  if (b.rank(point) == 1 && getConstant(b.size(point, 0)) != 1)
    point = b.along(point, channel, b.rank(x));
  else if (b.rank(point) == 1)
    point = b.reshape(point, {});
  return wide - point;
}

FloatType asFloat8(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() == 8 ? type : FloatType();
}

Value saturateFloat8(Builder &b, const Value &x, FloatType to) {
  double most = llvm::APFloat::getLargest(to.getFloatSemantics()).convertToDouble();
  return b.to(b.clamp(asFloat8(b.element(x)) || !b.isFloat(x) ? b.to(x, b.f32()) : x, -most, most), to);
}

Value saturate(Builder &b, const Value &x, const Value &zero, Type to) {
  if (isa<FloatType>(to)) {
    Value y = zero ? x + b.to(zero, b.element(x)) : x;
    FloatType float8 = asFloat8(to);
    return float8 ? saturateFloat8(b, y, float8) : b.to(y, to);
  }
  if (!isa<IntegerType>(to) || to.isInteger(1))
    return b.fail("quantization to numbers of another kind than integers and floats");
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1, width - 1), high = std::ldexp(1, isUnsigned ? width : width - 1) - 1;
  Value y = b.call("round.default", {x});
  if (zero)
    y = y + b.to(zero, b.element(x));
  return b.to(b.clamp(y, low, high), to);
}

Value scaleOf(Builder &b, const Value &scale, int64_t channel, int64_t rank) {
  Value wide = b.to(scale, b.f32());
  if (b.rank(wide) == 0)
    return wide;
  return getConstant(b.size(wide, 0)) == 1 && b.rank(wide) == 1 ? b.reshape(wide, {})
         : b.rank(wide) == 1                                    ? b.along(wide, channel, rank)
                                                                : wide;
}

Value multiplyDequantized(Builder &b, const Value &x, const Value &scaleX, const Value &zeroX, const Value &y,
                          const Value &scaleY, const Value &zeroY) {
  int64_t rankX = b.rank(x), rankY = b.rank(y);
  Value sum = b.to(b.matmul(shifted(b, x, zeroX, rankX - 2), shifted(b, y, zeroY, rankY - 1)), b.i32());
  int64_t rank = b.rank(sum);
  return b.to(sum, b.f32()) * (scaleOf(b, scaleX, rank - 2, rank) * scaleOf(b, scaleY, rank - 1, rank));
}

Values quantizeDynamically(Builder &b, const Value &x) {
  Ints dims = llvm::to_vector(llvm::seq(b.rank(x)));
  Value zero = b.full({}, 0, b.f32());
  Value high = b.call("maximum.default", {b.amax(x, dims, false), zero});
  Value low = b.call("minimum.default", {b.call("amin.default", {x, dims, false}), zero});
  Value scale = (high - low) / 255.0;
  Value isFlat = b.call("eq.Scalar", {scale, 0.0});
  Value safe = b.where(isFlat, b.full({}, 1, b.f32()), scale);
  Value point = b.clamp(b.call("round.default", {-low / safe}), 0, 255);
  Type byte = IntegerType::get(b.context, 8, IntegerType::Unsigned);
  return {saturate(b, x / safe, point, byte), scale, b.to(point, byte)};
}

namespace {

/// Scale or zero point as x needs it: one number, one an index of `axis`, or one a block.
Value spread(Builder &b, const Value &p, const Value &x, int64_t axis, int64_t block) {
  int64_t rank = b.rank(p);
  if (rank == 0 || (rank == 1 && getConstant(b.size(p, 0)) == 1))
    return b.reshape(p, {});
  if (rank == 1 && block == 0)
    return b.along(p, b.dim(axis, b.rank(x)), b.rank(x));
  axis = b.dim(axis, b.rank(x));
  if (b.hasFailed() || rank != b.rank(x) || block <= 0)
    return b.fail("scales of rank " + llvm::Twine(rank) + " need a block_size, and the operand's rank");
  // Every number stands for a block; the last one may be cut.
  Shape sizes = b.shape(p), wide = sizes, flat = sizes;
  wide.insert(wide.begin() + axis + 1, b.constant(block));
  flat[axis] = sizes[axis] * block;
  Value repeated = b.reshape(b.expand(b.unsqueeze(p, axis + 1), wide), flat);
  return b.slice(repeated, axis, b.constant(0), b.size(x, axis));
}

Value quantize(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  Type to = n.has(2) ? b.element(n[2]) : n.elementType("output_dtype");
  if (n.has(2) && n[2].isNarrow())
    return b.fail("quantization to " + n[2].stored->tensor.dtypeName + " is not supported");
  if (!to)
    to = IntegerType::get(b.context, 8, IntegerType::Unsigned);
  Value wide = b.isFloat(x) ? b.toOpmath(x) : b.to(x, b.f32());
  Value scale = b.to(spread(b, n[1], x, axis, block), b.element(wide));
  Value zero = n.has(2) ? spread(b, n[2], x, axis, block) : b.none();
  return saturate(b, wide / scale, zero, to); // once: a quotient of a half type would be rounded twice
}

Value dequantize(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  Type to = n.elementType("output_dtype");
  Value scale = spread(b, n[1], x, axis, block);
  to = to ? to : b.element(scale);
  Type compute = asFloat8(b.element(x)) || !b.isFloat(x) ? b.f32() : b.element(x);
  Value wide = b.to(x, compute);
  if (n.has(2)) {
    // Differences of 32-bit integers are exact as integers.
    Value zero = spread(b, n[2], x, axis, block);
    wide = b.isFloat(x) ? wide - b.to(zero, compute) : b.to(b.to(x, b.i32()) - b.to(zero, b.i32()), compute);
  }
  return b.to(wide * b.to(scale, compute), to);
}

/// An exact sum of integers, scaled.
Value requantize(Builder &b, const Value &sum, const Value &factor, const Value &zero, const Value &like) {
  Type to = b.element(like);
  return saturate(b, b.to(sum, b.f32()) * factor, zero, to);
}

Value multiply(Builder &b, const Node &n) {
  Value x = shifted(b, n[0], n[2], b.rank(n[0]) - 2), y = shifted(b, n[3], n[5], b.rank(n[3]) - 1);
  Value sum = b.to(b.matmul(x, y), b.i32());
  int64_t rank = b.rank(sum);
  Value factor = scaleOf(b, n[1], rank - 2, rank) * scaleOf(b, n[4], rank - 1, rank) / scaleOf(b, n[6], rank - 2, rank);
  Value zero = scaleOf(b, n[7], rank - 2, rank);
  return requantize(b, sum, factor, zero, n[7]);
}

Value convolve(Builder &b, const Node &n) {
  Value x = shifted(b, n[0], n[2], 1), w = shifted(b, n[3], n[5], 0);
  int64_t rank = b.rank(x);
  Value sum = b.to(convolution(b, n, x, w, b.none()), b.i32());
  if (n.has(8))
    sum = sum + b.along(n[8], 1, rank);
  Value factor = scaleOf(b, n[1], 1, rank) * scaleOf(b, n[4], 1, rank) / scaleOf(b, n[6], 1, rank);
  return requantize(b, sum, factor, scaleOf(b, n[7], 1, rank), n[7]);
}

} // namespace

void addQuantization(Table &t) {
  t.row("QuantizeLinear", quantize);
  t.row("DequantizeLinear", dequantize);
  t.rows("DynamicQuantizeLinear", [](Builder &b, const Node &n) { return quantizeDynamically(b, n[0]); });
  t.row("QLinearMatMul", multiply);
  t.row("QLinearConv", convolve);
}

} // namespace ptc::import::onnx
