//===- Quantized.cpp - numbers as steps of a scale ------------------------===//
//
// What torch.ao and torchao write into exports of quantized models: the library
// quantized_decomposed, step by step as torch/ao/quantization/fx/_decomposed.py
// computes it, and ATen's own. q = round(x / scale) + zero point, cut to a range,
// and x = (q - zero point) * scale.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Table.h"

#include <limits>

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {

/// The whole numbers that a quantized tensor is cut to, and their type.
struct Steps {
  T low, high;
  Dtype dtype;

  T cut(B &b, T x) const { return b.to(b.clamp(x, low, high), dtype); }
};

} // namespace

/// The one element of a tensor as Python's `item` gives it: it does not take part in promotion.
static T item(B &b, T x) {
  T number = b.reshape(x, {});
  b.markWrapped(number);
  return b.operand(number.tensor());
}

/// A vector along one dimension of x.
static T along(B &b, T vector, T x, int64_t axis) {
  Shape sizes(x.rank(), b.size(1));
  sizes[b.dim(x, axis)] = vector.numel();
  return b.reshape(vector, sizes);
}

/// `scale` is a number, or a tensor that broadcasts.
static T quantize(B &b, T x, T scale, T zeroPoint, Steps steps) {
  T inverse = scale.isTensor() ? b.reciprocal(scale) : T(1 / scale.real());
  return steps.cut(b, b.round(b.toOpmath(x) * inverse) + zeroPoint);
}

/// By numbers that tensors hold; Python divides them as doubles.
static T quantizeByItems(B &b, T x, T scale, T zeroPoint, Steps steps) {
  T inverse = item(b, b.reciprocal(b.to(scale, b.f64())));
  return steps.cut(b, b.round(b.toOpmath(x) * inverse) + item(b, zeroPoint));
}

static T dequantize(B &b, T x, T scale, T zeroPoint, Dtype out) {
  return (b.to(x, out ? out : b.f32()) - zeroPoint) * scale;
}

static void addPerTensor(Table &t) {
  t.def("quantized_decomposed.quantize_per_tensor.default",
        [](B &b, T x, double scale, int64_t zeroPoint, int64_t low, int64_t high, Dtype dtype) {
          return quantize(b, x, scale, zeroPoint, {low, high, dtype});
        });
  t.def("quantized_decomposed.quantize_per_tensor.tensor",
        [](B &b, T x, T scale, T zeroPoint, int64_t low, int64_t high, Dtype dtype) {
          return quantizeByItems(b, x, scale, zeroPoint, {low, high, dtype});
        });
  t.def("quantized_decomposed.quantize_per_tensor.tensor2",
        [](B &b, T x, T scale, T zeroPoint, T low, T high, Dtype dtype) {
          return quantizeByItems(b, x, scale, zeroPoint, {item(b, low), item(b, high), dtype});
        });
  t.def("quantized_decomposed.dequantize_per_tensor.default",
        [](B &b, T x, double scale, int64_t zeroPoint, Any, Any, Any, Dtype out) {
          return dequantize(b, x, scale, zeroPoint, out);
        });
  t.def("quantized_decomposed.dequantize_per_tensor.tensor quantized_decomposed.dequantize_per_tensor.tensor2",
        [](B &b, T x, T scale, T zeroPoint, Any, Any, Any, Dtype out) {
          return dequantize(b, x, item(b, scale), item(b, zeroPoint), out);
        });
}

static void addPerChannel(Table &t) {
  t.def("quantized_decomposed.quantize_per_channel.default",
        [](B &b, T x, T scales, T zeroPoints, int64_t axis, int64_t low, int64_t high, Dtype dtype) {
          return quantize(b, x, along(b, scales, x, axis), along(b, zeroPoints, x, axis), {low, high, dtype});
        });
  t.def("quantized_decomposed.dequantize_per_channel.default",
        [](B &b, T x, T scales, OptT zeroPoints, int64_t axis, Any, Any, Any, Dtype out) {
          T steps = zeroPoints ? x - along(b, *zeroPoints, x, axis) : x;
          return b.to(steps * along(b, scales, x, axis), out ? out : b.f32());
        });
}

/// As `quantize`, but the zero point is added before rounding.
static T quantizeRows(B &b, T x, T scales, T zeroPoints, Steps steps) {
  return steps.cut(b, b.round(x * b.reciprocal(scales) + zeroPoints));
}

/// Rows of `size` elements each, with a scale and a zero point of their own.
static T inGroups(B &b, T x, T scales, int64_t size) {
  AffineExpr columns = x.size(-1);
  if (auto known = getConstant(columns); known && size > *known && b.isOne(scales.size(-1)))
    size = *known;
  if (size < 1 || !getConstant(columns) || *getConstant(columns) % size != 0)
    throwMisfit("rows must be divisible into groups of " + llvm::Twine(size));
  return b.reshape(x, {x.numel().floorDiv(size), b.size(size)});
}
static T asColumn(B &b, T x) { return b.reshape(x, {x.numel(), b.size(1)}); }

static void addPerRow(Table &t) {
  t.def("quantized_decomposed.quantize_per_token.default",
        [](B &b, T x, T scales, T zeroPoints, int64_t low, int64_t high, Dtype dtype) {
          return quantizeRows(b, x, scales, zeroPoints, {low, high, dtype});
        });
  t.def(
      "quantized_decomposed.dequantize_per_token.default",
      [](B &b, T x, T scales, T zeroPoints, Any, Any, Any, Dtype out) { return b.to((x - zeroPoints) * scales, out); });
  t.def("quantized_decomposed.quantize_per_channel_group.default",
        [](B &b, T x, T scales, T zeroPoints, int64_t low, int64_t high, Dtype dtype, int64_t group) {
          T rows = inGroups(b, x, scales, group);
          T steps = quantizeRows(b, rows, asColumn(b, scales), asColumn(b, zeroPoints), {low, high, dtype});
          return b.reshape(steps, x.sizes());
        });
  t.def("quantized_decomposed.dequantize_per_channel_group.default",
        [](B &b, T x, T scales, OptT zeroPoints, Any, Any, Any, int64_t group, Dtype out) {
          T rows = inGroups(b, x, scales, group);
          rows = zeroPoints ? rows - asColumn(b, *zeroPoints) : rows;
          return b.to(b.reshape(rows * asColumn(b, scales), x.sizes()), out);
        });
}

/// Of the least and the greatest element: a scale for which both are within [low, high], and the step that is 0. The
/// scale is not less than `eps`. torch/ao/quantization/utils.py, determine_qparams.
static TList chooseParameters(B &b, T x, int64_t low, int64_t high, double eps, bool isSymmetric, Dtype dtype) {
  b.requireElements(x, {});
  T least = b.minimum(b.min(x, {}), 0.0), greatest = b.maximum(b.max(x, {}), 0.0);
  double steps = double(high - low);
  T scale = isSymmetric ? b.maximum(-least, greatest) / (steps / 2) : (greatest - least) / steps;
  scale = b.maximum(b.to(scale, b.f32()), b.full({}, eps, b.f32()));
  T zeroPoint = isSymmetric ? b.full({}, dtype.isUnsignedInteger(8) ? 128 : 0, b.i64())
                            : b.clamp(b.to(low - b.to(b.round(least / scale), b.i32()), b.i64()), T(low), T(high));
  Shape one{b.size(1)};
  return {b.reshape(b.to(scale, b.f64()), one), b.reshape(zeroPoint, one)};
}

/// For every row, in eight bits. As XNNPACK chooses them: the zero point errs least at the end that is nearer to it.
static TList chooseForRows(B &b, T x) {
  constexpr double kLow = -128, kHigh = 127;
  b.requireElements(x, {-1});
  T least = b.minimum(b.min(x, {-1}, true), 0.0), greatest = b.maximum(b.max(x, {-1}, true), 0.0);
  T scale = b.clamp((greatest - least) / (kHigh - kLow), T(double(std::numeric_limits<float>::epsilon())), {});
  T low = least / scale, high = greatest / scale;
  T zeroPoint = b.where((kLow + low) + (kHigh + high) > 0.0, kLow - low, kHigh - high);
  return {b.to(scale, b.f64()), b.to(b.round(b.clamp(zeroPoint, T(kLow), T(kHigh))), b.i64())};
}

static TList chooseSymmetricForRows(B &b, T x, Dtype dtype) {
  if (!dtype.isSignlessInteger(8))
    return {b.unsupported("rows are quantized to int8")};
  b.requireElements(x, {-1});
  T most = b.max(b.abs(x), {-1}, true);
  most = most.dtype().isF16() ? b.to(most, b.f32()) : most;
  T scale = b.clamp(most, T(1e-5), {}) / 127.0;
  b.keepType(0);
  b.keepType(1);
  return {scale, b.full(scale.sizes(), 0, scale.dtype())};
}

static void addChoices(Table &t) {
  t.def("quantized_decomposed.choose_qparams.tensor",
        [](B &b, T x, int64_t low, int64_t high, double eps, Dtype dtype) {
          return chooseParameters(b, x, low, high, eps, /*isSymmetric=*/false, dtype);
        });
  t.def("quantized_decomposed.choose_qparams_symmetric.tensor",
        [](B &b, T x, int64_t low, int64_t high, double eps, Dtype dtype) {
          return chooseParameters(b, x, low, high, eps, /*isSymmetric=*/true, dtype);
        });
  t.def("quantized_decomposed.choose_qparams_per_token.default",
        [](B &b, T x, Dtype dtype) { return chooseSymmetricForRows(b, x, dtype); });
  t.def("quantized_decomposed.choose_qparams_per_token_asymmetric.default "
        "quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default",
        [](B &b, T x, Any) { return chooseForRows(b, x); });
}

/// x as it is when it has been quantized and is a number again; and whether it was within the range. `inverse` and
/// `scale` are float32 in PyTorch, whatever x is.
static TList quantizeAndBack(B &b, T x, T scale, T zeroPoint, int64_t low, int64_t high) {
  T inverse = scale.isTensor() ? b.reciprocal(scale) : T(double(1 / float(scale.real())));
  scale = scale.isTensor() ? scale : T(double(float(scale.real())));
  // A zero point that is no whole number is added before rounding.
  bool isWhole = zeroPoint.isNumber() || isIntegral(zeroPoint.dtype());
  T q = isWhole ? b.round(x * inverse) + zeroPoint : b.round(x * inverse + zeroPoint);
  return {(b.clamp(q, T(low), T(high)) - zeroPoint) * scale, (q >= low) & (q <= high)};
}

static void addFake(Table &t) {
  t.def("fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask",
        [](B &b, T x, double scale, int64_t zeroPoint, int64_t low, int64_t high) {
          return quantizeAndBack(b, x, scale, zeroPoint, low, high);
        });
  t.def("fake_quantize_per_tensor_affine.tensor_qparams",
        [](B &b, T x, T scale, T zeroPoint, int64_t low, int64_t high) {
          return quantizeAndBack(b, x, item(b, scale), item(b, zeroPoint), low, high);
        });
  t.def("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        [](B &b, T x, T scale, T zeroPoint, T isOn, int64_t low, int64_t high) {
          TList results = quantizeAndBack(b, x, item(b, scale), item(b, zeroPoint), low, high);
          T on = item(b, isOn) != 0;
          return TList{b.where(on, results[0], x), b.logicalNot(on) | results[1]};
        });
  t.def("fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask "
        "quantized_decomposed.fake_quant_per_channel.default",
        [](B &b, T x, T scales, T zeroPoints, int64_t axis, int64_t low, int64_t high) {
          return quantizeAndBack(b, x, along(b, scales, x, axis), along(b, zeroPoints, x, axis), low, high);
        });
}

static void addProductsOfSteps(Table &t) {
  t.def("_int_mm", [](B &b, T x, T y) { return b.matmul(b.to(x, b.i32()), b.to(y, b.i32())); });
  t.def("_weight_int8pack_mm",
        [](B &b, T x, T w, T scales) { return b.contract(x, b.to(w, x.dtype()), {}, {}, {1}, {1}) * scales; });
}

void addQuantized(Table &t) {
  addFake(t);
  addProductsOfSteps(t);
  addPerTensor(t);
  addPerChannel(t);
  addPerRow(t);
  addChoices(t);
  t.def("quantized_decomposed.convert_element_type.no_fuse", [](B &b, T x, Dtype dtype) { return b.to(x, dtype); });
}

} // namespace ptc::decompose
