//===- FusedQuantization.cpp - operators of ONNX Runtime's quantizers ---------------===//
//
// Of the domain com.microsoft, as its docs/ContribOperators.md describes them.
// Bytes are computed with as float32 where the operator says no more, as ONNX
// Runtime does; products of bytes are exact.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/onnx/Quantization.h"
#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

Value dequantized(Builder &b, const Value &x, const Value &scale, const Value &zero) {
  int64_t rank = b.rank(x);
  return b.to(shifted(b, x, zero, 0), b.f32()) * scaleOf(b, scale, 0, rank);
}

/// Of inputs first, first + 1 (scale) and first + 2 (zero point, maybe nothing).
Value dequantized(Builder &b, const Node &n, unsigned first) {
  return dequantized(b, n[first], n[first + 1], n.input(first + 2));
}

/// By inputs `scale` and `scale` + 1 (zero point, maybe nothing).
Value quantized(Builder &b, const Node &n, const Value &y, unsigned scale, Type to) {
  int64_t rank = b.rank(y);
  Value zero = n.has(scale + 1) ? scaleOf(b, n[scale + 1], 0, rank) : b.none();
  return saturate(b, y / scaleOf(b, n[scale], 0, rank), zero, to);
}

/// An operator on real numbers, of one quantized operand: x, scale, zero point, and those of the result.
template <class Compute> Value ofOne(Builder &b, const Node &n, Compute compute) {
  return quantized(b, n, compute(dequantized(b, n, 0)), 3, b.element(n[0]));
}

/// Zero point i as a float32 number: 0 where there is none.
Value zeroOf(Builder &b, const Node &n, unsigned i) {
  return n.has(i) ? scaleOf(b, n[i], 0, b.rank(n[0])) : b.number(0, b.f32());
}

/// In steps of the result, whose zero point is input `zero`. Some of ONNX Runtime's kernels add it before they round,
/// so that halves become even codes.
Value roundedToCode(Builder &b, const Node &n, const Value &steps, unsigned zero) {
  return saturate(b, steps + zeroOf(b, n, zero), b.none(), b.element(n[0]));
}

/// As ONNX Runtime has it: what the zero points make is one number.
Value add(Builder &b, const Node &n) {
  int64_t rank = b.rank(n[0]);
  Value step = scaleOf(b, n[6], 0, rank);
  Value perX = scaleOf(b, n[1], 0, rank) / step, perY = scaleOf(b, n[4], 0, rank) / step;
  Value fixed = zeroOf(b, n, 7) - (perX * zeroOf(b, n, 2) + perY * zeroOf(b, n, 5));
  Value code = fixed + b.to(n[0], b.f32()) * perX + b.to(n[3], b.f32()) * perY;
  return saturate(b, code, b.none(), b.element(n[0])); // halves become even codes
}

/// Likewise: the product of whole numbers is exact, and its scale one number.
Value multiply(Builder &b, const Node &n) {
  int64_t rank = b.rank(n[0]);
  Value factor = scaleOf(b, n[1], 0, rank) * scaleOf(b, n[4], 0, rank) / scaleOf(b, n[6], 0, rank);
  Value product = b.to(shifted(b, n[0], n.input(2), 0) * shifted(b, n[3], n.input(5), 0), b.f32());
  return roundedToCode(b, n, product * factor, 7);
}

/// Of as many as there are, each a tensor, its scale and its zero point, behind those of the result.
Value concatenate(Builder &b, const Node &n) {
  if (n.count() < 5 || n.count() % 3 != 2)
    return b.fail("needs a scale and a zero point for every tensor");
  Values parts;
  for (unsigned i = 2; i < n.count(); i += 3)
    parts.push_back(dequantized(b, n, i));
  int64_t axis = b.dim(n.integer("axis", 0), b.rank(parts.front()));
  return quantized(b, n, b.cat(parts, axis), 0, b.element(n[2]));
}

Value choose(Builder &b, const Node &n) {
  return quantized(b, n, b.where(n[0], dequantized(b, n, 1), dequantized(b, n, 4)), 7, b.element(n[1]));
}

/// ONNX's operator of that name, on real numbers.
Value pool(Builder &b, const Node &n, llvm::StringRef name, const Value &real) {
  return withChannelsFirst(b, real, n.integer("channels_last", 0),
                           [&](const Value &x) { return buildAs(b, name, n.with({x})).front(); });
}

Value convolve(Builder &b, const Node &n) {
  return withChannelsFirst(b, n[0], n.integer("channels_last", 0), [&](const Value &x) {
    Values inputs = n.all();
    inputs.front() = x;
    return buildAs(b, "QLinearConv", n.with(std::move(inputs))).front();
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Value multiplyDynamically(Builder &b, const Node &n) {
  Values x = quantizeDynamically(b, n[0]);
  return plusBias(multiplyDequantized(b, x[0], x[1], x[2], n[1], n[2], n.input(3)), n.input(4));
}

Value multiplyToFloat(Builder &b, const Node &n) {
  Value y = multiplyDequantized(b, n[0], n[2], n.input(4), n[1], n[3], n.input(5));
  return plusBias(b.to(y, b.element(n[2])), n.input(6));
}

/// What is added is of the scales of both operands, times alpha.
Value gemm(Builder &b, const Node &n) {
  Value x = n[0], y = n[3];
  if (b.rank(x) != 2 || b.rank(y) != 2)
    return b.fail("operands of rank " + llvm::Twine(b.rank(x)) + " and " + llvm::Twine(b.rank(y)) + ", not 2");
  if (n.integer("transA", 0))
    x = b.permute(x, {1, 0});
  if (n.integer("transB", 0))
    y = b.permute(y, {1, 0});
  Value sum = b.to(b.matmul(shifted(b, x, n.input(2), 0), shifted(b, y, n.input(5), 1)), b.i32());
  Value result = b.to(plusBias(sum, n.input(6)), b.f32()) * scaleOf(b, n[1], 0, 2) * scaleOf(b, n[4], 1, 2);
  result = result * n.real("alpha", 1);
  return n.has(7) ? quantized(b, n, result, 7, n.has(8) ? b.element(n[8]) : b.element(n[0])) : result;
}

/// Unsigned numbers of `bits` bits, low ones first in each byte: the last dimension grows by as many as a byte has.
Value unpack(Builder &b, const Value &bytes, int64_t bits) {
  Value wide = b.to(bytes, b.i32());
  if (bits == 8)
    return wide;
  int64_t last = b.rank(bytes);
  Values parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    Value low = b.call("bitwise_right_shift.Tensor_Scalar", {wide, shift});
    parts.push_back(b.unsqueeze(b.call("bitwise_and.Scalar", {low, (int64_t(1) << bits) - 1}), last));
  }
  Shape sizes = b.shape(bytes);
  if (sizes.empty())
    return b.fail("packed numbers have a dimension");
  sizes.back() = sizes.back() * (8 / bits);
  return b.reshape(b.cat(parts, last), sizes);
}

/// x times the transpose of a weight [N, K], whose blocks along K have a scale and a zero point each.
Value multiplyPacked(Builder &b, const Node &n) {
  int64_t rows = n.integer("N", 0), depth = n.integer("K", 0), block = n.integer("block_size", 0);
  int64_t bits = n.integer("bits", 4);
  if (rows <= 0 || depth <= 0 || block < 16 || (bits != 2 && bits != 4 && bits != 8))
    return b.fail("needs positive N and K, blocks of 16 or more, and 2, 4 or 8 bits");
  if (n.has(4))
    return b.fail("input 'g_idx' is not supported");
  if (n.integer("weight_prepacked", 0))
    return b.fail("attribute 'weight_prepacked' is not supported");
  int64_t blocks = llvm::divideCeil(depth, block);
  Type element = b.element(n[0]);
  AffineExpr one = b.constant(1), height = b.constant(rows), width = b.constant(blocks);
  Value weight = b.to(unpack(b, b.reshape(n[1], b.staticShape({rows, blocks, block * bits / 8})), bits), b.f32());
  Value zero = b.number(double(int64_t(1) << (bits - 1)), b.f32());
  if (n.has(3) && b.isFloat(n[3]))
    zero = b.reshape(b.to(n[3], b.f32()), {height, width, one});
  else if (n.has(3)) {
    int64_t bytes = llvm::divideCeil(blocks * bits, 8);
    Value all = unpack(b, b.reshape(n[3], b.staticShape({rows, bytes})), bits);
    zero = b.reshape(b.to(b.slice(all, 1, b.constant(0), width), b.f32()), {height, width, one});
  }
  Value scaled = (weight - zero) * b.to(b.reshape(n[2], {height, width, one}), b.f32());
  Value flat = b.slice(b.reshape(scaled, b.staticShape({rows, blocks * block})), 1, b.constant(0), b.constant(depth));
  return plusBias(b.matmul(n[0], b.permute(b.to(flat, element), {1, 0})), n.input(5));
}

} // namespace

void addFusedQuantization(Table &t) {
  t.row("com.microsoft.QLinearAdd", add);
  t.row("com.microsoft.QLinearMul", multiply);
  t.row("com.microsoft.QLinearSigmoid", [](Builder &b, const Node &n) {
    return ofOne(b, n, [&](const Value &x) { return b.call("sigmoid.default", {x}); });
  });
  t.row("com.microsoft.QLinearLeakyRelu", [](Builder &b, const Node &n) {
    return ofOne(b, n, [&](const Value &x) { return b.call("leaky_relu.default", {x, n.real("alpha", 0.01f)}); });
  });
  t.row("com.microsoft.QLinearSoftmax", [](Builder &b, const Node &n) {
    return ofOne(b, n,
                 [&](const Value &x) { return buildAs(b, "Softmax", n.with({x}, n.integer("opset", 13))).front(); });
  });
  t.row("com.microsoft.QLinearReduceMean", [](Builder &b, const Node &n) {
    return ofOne(b, n, [&](const Value &x) { return buildAs(b, "ReduceMean", n.with({x}, 13)).front(); });
  });
  t.row("com.microsoft.QLinearAveragePool", [](Builder &b, const Node &n) {
    Value means = pool(b, n, "AveragePool", dequantized(b, n, 0));
    return roundedToCode(b, n, means / scaleOf(b, n[3], 0, b.rank(means)), 4);
  });
  t.row("com.microsoft.QLinearGlobalAveragePool", [](Builder &b, const Node &n) {
    return ofOne(b, n, [&](const Value &x) { return pool(b, n, "GlobalAveragePool", x); });
  });
  t.row("com.microsoft.QLinearConcat", concatenate);
  t.row("com.microsoft.QLinearWhere", choose);
  t.row("com.microsoft.QLinearConv", convolve);
  t.row("com.microsoft.DynamicQuantizeMatMul", multiplyDynamically);
  t.row("com.microsoft.MatMulIntegerToFloat", multiplyToFloat);
  t.row("com.microsoft.QGemm", gemm);
  t.row("com.microsoft.MatMulNBits", multiplyPacked);
}

} // namespace ptc::import::onnx
