//===- Random.cpp - random numbers, and operators that draw them ----------===//

#include "compiler/graph/decompose/Random.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <limits>

namespace ptc::decompose {

//===----------------------------------------------------------------------===//
// Distributions
//===----------------------------------------------------------------------===//

/// 32 random bits as a number of type i64 that is not negative.
static T words(B &b, ShapeRef sizes) { return b.to(b.randomBits(sizes), b.i64()) & int64_t(0xffffffff); }

T uniform(B &b, ShapeRef sizes, mlir::Type type) {
  if (type.isF64()) {
    T high = b.shiftLeft(words(b, sizes) & int64_t(0x1fffff), 32);
    return b.to(high | words(b, sizes), b.f64()) * 0x1p-53;
  }
  // As many bits as the type has, so that rounding never makes a 1.
  int digits = type.isBF16() ? 8 : type.isF16() ? 11 : 24;
  T bits = b.shiftRight(b.randomBits(sizes), 32 - digits) & int64_t((1 << digits) - 1);
  return b.to(bits, b.f32()) * std::ldexp(1.0, -digits);
}

/// By the method of Box and Muller; 1 - u is never 0.
T normal(B &b, ShapeRef sizes, mlir::Type type) {
  mlir::Type compute = opmath(toFloating(type));
  T radius = b.sqrt(b.log(1.0 - uniform(b, sizes, compute)) * -2.0);
  return radius * b.cos(uniform(b, sizes, compute) * (2 * M_PI));
}

T bernoulli(B &b, ShapeRef sizes, T p) {
  bool isDouble = p.isTensor() && p.dtype().isF64();
  return uniform(b, sizes, isDouble ? b.f64() : b.f32()) < p;
}

/// In [low, low + count). Counts that the product with 32 bits has room for take one draw.
static T integers(B &b, ShapeRef sizes, T low, T count) {
  bool isSmall = count.isNumber() && !count.symbolic() && count.integer() <= (int64_t(1) << 31);
  if (isSmall)
    return b.shiftRight(words(b, sizes) * count, 32) + low;
  T wide = b.shiftLeft(words(b, sizes) & int64_t(0x7fffffff), 32) | words(b, sizes);
  return b.remainder(wide, b.tensor(count, b.i64())) + low;
}

//===----------------------------------------------------------------------===//
// Operators that fill a tensor
//===----------------------------------------------------------------------===//

/// Numbers of the declared type, both parts of complex ones, from `draw(part type)`.
template <class Draw> static T declaredParts(B &b, Draw draw) {
  auto complex = llvm::dyn_cast<mlir::ComplexType>(b.declaredType());
  if (!complex)
    return draw(b.declaredType());
  T re = draw(complex.getElementType());
  return b.complex(re, draw(complex.getElementType()));
}

static T declaredUniform(B &b, double from = 0, double to = 1) {
  return declaredParts(b, [&](mlir::Type type) {
    T numbers = uniform(b, b.declared(), type);
    return from == 0 && to == 1 ? numbers : b.toOpmath(numbers) * (to - from) + from;
  });
}

/// The parts of a complex number share its variance.
static T declaredNormal(B &b, T mean = 0.0, T deviation = 1.0) {
  T own = isComplex(b.declaredType()) ? deviation * M_SQRT1_2 : deviation;
  return declaredParts(b, [&](mlir::Type type) { return normal(b, b.declared(), type) * own + mean; });
}

/// -log of a number in (0, 1].
static T exponential(B &b, ShapeRef sizes, mlir::Type type) {
  return -b.log(1.0 - uniform(b, sizes, opmath(toFloating(type))));
}

static void addFloats(Table &t) {
  t.def("rand rand.generator rand_like rand_like.generator", [](B &b, Rest) { return declaredUniform(b); });
  t.def("randn randn.generator randn_like randn_like.generator", [](B &b, Rest) { return declaredNormal(b); });
  t.def("uniform", [](B &b, T, double from, double to) { return declaredUniform(b, from, to); });
  t.def("normal.Tensor_Tensor", [](B &b, T mean, T deviation) { return declaredNormal(b, mean, deviation); });
  t.def("normal.Tensor_float", [](B &b, T mean, double deviation) { return declaredNormal(b, mean, deviation); });
  t.def("normal.float_Tensor", [](B &b, double mean, T deviation) { return declaredNormal(b, mean, deviation); });
  t.def("normal.float_float", [](B &b, double mean, double deviation, Ints, Dtype) {
    return declaredNormal(b, mean, deviation);
  });
  t.def("normal_functional", [](B &b, T, double mean, double deviation) { return declaredNormal(b, mean, deviation); });
  t.def("log_normal", [](B &b, T, double mean, double deviation) {
    return b.exp(declaredNormal(b, mean, deviation));
  });
  t.def("exponential",
        [](B &b, T, double rate) { return exponential(b, b.declared(), b.declaredType()) / rate; });
  t.def("cauchy", [](B &b, T, double median, double sigma) {
    T u = uniform(b, b.declared(), opmath(b.declaredType()));
    return b.tan((u - 0.5) * M_PI) * sigma + median;
  });
  t.def("geometric", [](B &b, T, double p) {
    T trials = exponential(b, b.declared(), b.declaredType()) / -std::log1p(-p);
    return b.maximum(b.ceil(trials), 1.0);
  });
}

static void addIntegers(Table &t) {
  t.def("randint randint.generator", [](B &b, Int high, Ints, Dtype) { return integers(b, b.declared(), 0, T(high)); });
  t.def("randint.low randint.low_generator", [](B &b, Int low, Int high, Ints, Dtype) {
    return integers(b, b.declared(), T(low), T(high - low));
  });
  t.def("randint_like randint_like.generator",
        [](B &b, T, Int high, Dtype) { return integers(b, b.declared(), 0, T(high)); });
  t.def("randint_like.low_dtype randint_like.low_generator_dtype", [](B &b, T, Int low, Int high, Dtype) {
    return integers(b, b.declared(), T(low), T(high - low));
  });
  t.def("randint_like.Tensor randint_like.Tensor_generator",
        [](B &b, T, T high, Dtype) { return integers(b, b.declared(), 0, b.to(high, b.i64())); });
  t.def("random.to", [](B &b, T, int64_t to) { return integers(b, b.declared(), 0, to); });
  t.def("random.from", [](B &b, T, int64_t from, std::optional<int64_t> to) {
    return to ? integers(b, b.declared(), from, *to - from) : b.unsupported("give the end of the range, too");
  });
  // From 0 to the last number before which the type has them all.
  t.def("random", [](B &b, T) {
    mlir::Type type = b.declaredType();
    int64_t bits = isBool(type)      ? 1
                   : isUnsigned(type) ? type.getIntOrFloatBitWidth()
                   : isInteger(type)  ? type.getIntOrFloatBitWidth() - 1
                   : type.isF64()     ? 53
                   : type.isF32()     ? 24
                   : type.isBF16()    ? 8
                                      : 11;
    if (bits > 32)
      return (b.shiftLeft(words(b, b.declared()) & ((int64_t(1) << (bits - 32)) - 1), 32)) | words(b, b.declared());
    return words(b, b.declared()) & ((int64_t(1) << bits) - 1);
  });
  // Ties of 63 random bits would be broken by order, and there are hardly any.
  t.def("randperm randperm.generator", [](B &b, Rest) {
    Shape sizes = b.declared();
    T keys = b.shiftLeft(words(b, sizes) & int64_t(0x7fffffff), 32) | words(b, sizes);
    return b.sort(keys, 0, false).second;
  });
}

//===----------------------------------------------------------------------===//
// Operators that choose
//===----------------------------------------------------------------------===//

/// The places of the k largest of p / (a number of exponential distribution): k draws without replacement.
static T chooseWithout(B &b, T p, mlir::AffineExpr k) {
  b.require(k, p.size(-1));
  return b.topK(p / exponential(b, p.sizes(), p.dtype()), k, -1, true).second;
}

/// How many of the running sums are at or below a random part of the total.
static T chooseWith(B &b, T p, mlir::AffineExpr k) {
  T sums = b.scan("sum", p, -1);
  Shape sizes = p.sizes();
  mlir::AffineExpr classes = sizes.back();
  sizes.back() = k;
  T total = b.slice(sums, -1, classes - 1, classes);
  T mark = uniform(b, sizes, p.dtype()) * total; // [..., k]
  T below = b.unsqueeze(sums, -2) <= b.unsqueeze(mark, -1);
  return b.minimum(b.sum(b.to(below, b.i64()), {-1}), T(classes) - 1);
}

static void addChoices(Table &t) {
  t.opmath("multinomial", [](B &b, T p, Int count, bool replaces) {
    return replaces ? chooseWith(b, p, count) : chooseWithout(b, p, count);
  });
  t.opmath("bernoulli", [](B &b, T p) { return bernoulli(b, b.declared(), p); });
  t.def("bernoulli.p", [](B &b, T, double p) { return bernoulli(b, b.declared(), p); });
  t.def("bernoulli.Tensor", [](B &b, T, T p) { return bernoulli(b, b.declared(), b.toOpmath(p)); });
}

//===----------------------------------------------------------------------===//
// Distributions by parameters that are tensors
//===----------------------------------------------------------------------===//

/// Never 0 where the parameter is not, as PyTorch's.
static T standardGamma(B &b, T alpha) {
  T u = uniform(b, alpha.sizes(), b.f64()) + 0x1p-54; // neither 0 nor 1
  T wide = b.to(alpha, b.f64());
  double least = alpha.dtype().isF64() ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  return b.where(wide == 0.0, 0.0, b.maximum(b.special("gamma_quantile", u, wide), least));
}

static void addDistributions(Table &t) {
  t.opmath("_standard_gamma", [](B &b, T alpha) { return standardGamma(b, alpha); });
  t.opmath("_sample_dirichlet", [](B &b, T alpha) {
    T gamma = standardGamma(b, alpha);
    return gamma / b.sum(gamma, {-1}, true);
  });
  t.def("poisson", [](B &b, T rate) {
    return b.special("poisson_draw", uniform(b, rate.sizes(), b.f64()), b.to(rate, b.f64()));
  });
  t.def("binomial", [](B &b, T count, T p) {
    T whole = b.floor(b.to(count, b.f64())), u = uniform(b, b.declared(), b.f64());
    T sum = b.minimum(whole + u, b.nextAfter(whole + 1.0, 0.0)); // also where it is rounded
    return b.special("binomial_draw", sum, b.to(p, b.f64()));
  });
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

Dropout dropout(B &b, T x, double p, bool train) {
  if (!train || p == 0)
    return {x, b.full(x.sizes(), true, b.boolean())};
  if (p == 1)
    return {b.full(x.sizes(), 0, x.dtype()), b.full(x.sizes(), false, b.boolean())};
  T mask = bernoulli(b, x.sizes(), 1 - p);
  return {b.where(mask, x * (1 / (1 - p)), 0), mask};
}

/// The mask of whole channels: of the first two dimensions.
static Shape channels(B &b, T x) {
  Shape sizes = x.sizes();
  for (size_t d = 2; d < sizes.size(); ++d)
    sizes[d] = b.size(1);
  return sizes;
}

/// Dropped elements become what keeps mean and variance of a selu network, by an affine function of all.
static T alphaDropout(B &b, T x, ShapeRef mask, double p, bool train) {
  constexpr double kDropped = -1.7580993408473766;
  if (!train || p == 0)
    return x;
  if (p == 1)
    return b.full(x.sizes(), 0, x.dtype());
  double scale = 1 / std::sqrt((kDropped * kDropped * p + 1) * (1 - p));
  T keeps = bernoulli(b, mask, 1 - p);
  return b.where(keeps, x, kDropped) * scale - kDropped * scale * p;
}

static void addDropouts(Table &t) {
  t.opmath("dropout", [](B &b, T x, double p, bool train) { return dropout(b, x, p, train).result; });
  t.opmath("native_dropout", [](B &b, T x, double p, std::optional<bool> train) {
    Dropout d = dropout(b, x, p, train.value_or(true));
    return TList{d.result, d.mask};
  });
  t.opmath("feature_dropout", [](B &b, T x, double p, bool train) {
    if (!train || p == 0 || p == 1)
      return dropout(b, x, p, train).result;
    return b.where(bernoulli(b, channels(b, x), 1 - p), x * (1 / (1 - p)), 0);
  });
  t.opmath("alpha_dropout", [](B &b, T x, double p, bool train) { return alphaDropout(b, x, x.sizes(), p, train); });
  t.opmath("feature_alpha_dropout",
           [](B &b, T x, double p, bool train) { return alphaDropout(b, x, channels(b, x), p, train); });
  t.pointwise("rrelu", [](B &b, T x, T lower, T upper, bool training) {
    T slope = training ? uniform(b, x.sizes(), x.dtype()) * (upper - lower) + lower : (lower + upper) / 2.0;
    return b.where(x >= 0, x, x * slope);
  });
}

void addRandom(Table &t) {
  addFloats(t);
  addIntegers(t);
  addChoices(t);
  addDistributions(t);
  addDropouts(t);
}

} // namespace ptc::decompose
