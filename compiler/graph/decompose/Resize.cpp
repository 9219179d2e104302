//===- Resize.cpp - upsampling ---------------------------------------------===//
//
// Each dimension is resized by itself: what is read for place i of the result
// does not depend on the other dimensions. Places are computed as PyTorch does,
// in f64 where x is and else in f32, at compile time where sizes are known.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Table.h"

#include <array>
#include <cmath>

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
enum class Filter { Nearest, NearestExact, Linear, Cubic };

/// One dimension on its way from n to `out` places.
struct Axis {
  int64_t dim;
  AffineExpr n, out;
  std::optional<double> factor;
  bool alignCorners;
  mlir::Type type; ///< Of places and weights.
};
} // namespace

static Axis axisOf(B &b, T x, int64_t dim, AffineExpr out, std::optional<double> factor, bool alignCorners) {
  return {dim, x.size(dim), out, factor, alignCorners, x.dtype().isF64() ? b.f64() : b.f32()};
}

/// Distance between the places that neighbours read.
static T scaleOf(B &b, const Axis &axis, bool isNearest) {
  auto rounded = [&](double number) { return axis.type.isF64() ? number : double(float(number)); };
  if (auto n = getConstant(axis.n), out = getConstant(axis.out); n && out && !(axis.factor && *axis.factor > 0)) {
    bool aligned = axis.alignCorners && !isNearest;
    return aligned ? T(*out > 1 ? rounded(double(*n - 1) / double(*out - 1)) : 0.0)
                   : T(rounded(double(*n) / double(*out)));
  }
  auto number = [&](AffineExpr size) { return b.tensor(T(size), axis.type); };
  if (axis.alignCorners && !isNearest) {
    T steps = number(axis.out) - 1.0;
    return b.where(steps > 0.0, (number(axis.n) - 1.0) / steps, 0.0);
  }
  if (axis.factor && *axis.factor > 0)
    return T(rounded(1.0 / *axis.factor));
  return number(axis.n) / number(axis.out);
}

/// Where place i of the result lies in x: a vector.
static T sources(B &b, const Axis &axis, Filter filter) {
  T place = b.range(axis.out, axis.type);
  bool isNearest = filter == Filter::Nearest || filter == Filter::NearestExact;
  T scale = scaleOf(b, axis, isNearest);
  if (filter == Filter::Nearest || (axis.alignCorners && !isNearest))
    return place * scale;
  if (filter == Filter::NearestExact)
    return (place + 0.5) * scale;
  // PyTorch's processor code rounds once, after the subtraction; products of half the digits are exact in double.
  T factor = b.tensor(scale, axis.type), high = b.to(b.to(factor, b.f32()), b.f64()),
    low = b.to(factor, b.f64()) - high;
  T center = b.to(place, b.f64()) + 0.5, source = b.to(center * high - 0.5 + center * low, axis.type);
  return filter == Filter::Linear ? b.maximum(source, 0.0) : source;
}

/// x at `index` (clamped) along the axis.
static T readAt(B &b, T x, const Axis &axis, T index) {
  index = b.clamp(index, T(0), T(axis.n - 1));
  return b.moveDim(b.gather(x, {index}, {axis.dim}), 0, axis.dim);
}

static T alongAxis(B &b, T x, const Axis &axis, T vector) {
  Shape sizes(x.rank(), b.size(1));
  sizes[axis.dim] = axis.out;
  return b.broadcastInDim(vector, sizes, {axis.dim});
}

/// out = n * k repeats each element, which later stages see through.
static std::optional<T> repeat(B &b, T x, const Axis &axis) {
  auto n = getConstant(axis.n), out = getConstant(axis.out);
  int64_t k = 0;
  if (n && out)
    k = *n && *out % *n == 0 ? *out / *n : 0;
  else if (axis.factor && *axis.factor == std::floor(*axis.factor))
    k = *axis.factor;
  if (k < 1 || !isEqual(axis.n * k, axis.out) || (axis.factor && *axis.factor != k))
    return std::nullopt;
  Shape grown = x.sizes(), joined = x.sizes();
  grown.insert(grown.begin() + axis.dim + 1, b.size(k));
  joined[axis.dim] = axis.out;
  return b.reshape(b.expand(b.unsqueeze(x, axis.dim + 1), grown), joined);
}

/// PyTorch keeps the weights in x's type, but for the two-dimensional kernel that it has for last channels.
static T linear(B &b, T x, const Axis &axis, T source) {
  T low = b.floor(source), index = b.to(low, b.i64());
  auto kept = [&](T weight) { return x.rank() == 4 ? weight : b.step(weight); };
  T next = kept(b.clamp(source - low, T(0.0), T(1.0))), first = kept(1.0 - next);
  return readAt(b, x, axis, index) * alongAxis(b, x, axis, first) +
         readAt(b, x, axis, index + 1) * alongAxis(b, x, axis, next);
}

/// Weights of the four neighbours of a place at distance t from the second: Keys' polynomials as products, since the
/// sums of powers that PyTorch computes cancel, and lose digits where values are large.
static std::array<T, 4> cubicWeights(T t) {
  constexpr double a = -0.75;
  T rest = 1.0 - t;
  auto near = [&](T d, T rest) { return rest * (1.0 + d - (a + 2) * d * d); };
  auto far = [&](T d, T rest) { return a * d * rest * rest; };
  return {far(t, rest), near(t, rest), near(rest, t), far(rest, t)};
}

/// PyTorch keeps these weights in x's type.
static T cubic(B &b, T x, const Axis &axis, T source) {
  T low = b.floor(source), index = b.to(low, b.i64());
  auto weights = cubicWeights(source - low);
  T sum;
  for (int k = 0; k < 4; ++k) {
    T term = readAt(b, x, axis, index + (k - 1)) * alongAxis(b, x, axis, b.step(weights[k]));
    sum = sum ? sum + term : term;
  }
  return sum;
}

static T resizeAxis(B &b, T x, const Axis &axis, Filter filter) {
  bool isNearest = filter == Filter::Nearest || filter == Filter::NearestExact;
  if (isEqual(axis.n, axis.out) && (isNearest || !axis.factor || *axis.factor == 1))
    return x;
  if (isNearest)
    if (auto repeated = repeat(b, x, axis))
      return *repeated;
  T source = sources(b, axis, filter);
  if (isNearest)
    return readAt(b, x, axis, b.to(b.floor(source), b.i64()));
  return filter == Filter::Linear ? linear(b, x, axis, source) : cubic(b, x, axis, source);
}

/// The sizes of the result. As in PyTorch there may be no pictures, but none without channels or pixels, before or
/// after.
static Shape resized(B &b, T x) {
  Shape target = b.declared();
  b.requireElementsOfLast(x, x.rank() - 1);
  for (int64_t d = 2; d < x.rank(); ++d)
    b.require(b.size(1), target[d]);
  return target;
}

/// The innermost dimension first, which is PyTorch's order of additions.
static T resize(B &b, T x, Filter filter, bool alignCorners, llvm::ArrayRef<std::optional<double>> factors) {
  Shape target = resized(b, x);
  int64_t spatial = x.rank() - 2;
  for (int64_t d = spatial - 1; d >= 0; --d) {
    auto factor = d < int64_t(factors.size()) ? factors[d] : std::nullopt;
    x = resizeAxis(b, x, axisOf(b, x, d + 2, target[d + 2], factor, alignCorners), filter);
  }
  return x;
}

//===----------------------------------------------------------------------===//
// With antialiasing: as wide a filter as the places are apart
//===----------------------------------------------------------------------===//

static T filterWeight(B &b, T distance, Filter filter) {
  if (filter == Filter::Linear)
    return b.maximum(1.0 - distance, 0.0);
  constexpr double a = -0.5;
  T near = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0;
  T far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a;
  return b.where(distance < 1.0, near, b.where(distance < 2.0, far, 0.0));
}

/// The weight of every place of x in every place of the result: [out, n].
static T antialiasedWeights(B &b, const Axis &axis, Filter filter) {
  T scale = b.tensor(scaleOf(b, axis, false), axis.type), widened = b.maximum(scale, 1.0);
  T center = b.unsqueeze((b.range(axis.out, axis.type) + 0.5) * scale, 1);
  T support = widened * (filter == Filter::Linear ? 1.0 : 2.0);
  T first = b.maximum(b.trunc(center - support + 0.5), 0.0), end = b.trunc(center + support + 0.5);
  T place = b.range(axis.n, axis.type);
  T weight = filterWeight(b, b.abs(place - center + 0.5) / widened, filter);
  weight = b.where((place >= first) & (place < end), weight, 0.0);
  return weight / b.sum(weight, {1}, true);
}

static T resizeAntialiased(B &b, T x, Filter filter, bool alignCorners, llvm::ArrayRef<std::optional<double>> factors) {
  Shape target = resized(b, x);
  checkLength(x.rank(), factors.size() + 2);
  for (int64_t dim = x.rank() - 1; dim >= 2; --dim) {
    T weights = antialiasedWeights(b, axisOf(b, x, dim, target[dim], factors[dim - 2], alignCorners), filter);
    x = b.moveDim(b.contract(x, b.to(weights, x.dtype()), {}, {}, {dim}, {1}), -1, dim);
  }
  return x;
}

using Factor = std::optional<double>;

static llvm::SmallVector<Factor> factorsOf(const Floats &list) {
  llvm::SmallVector<Factor> factors;
  for (double factor : list.value_or(llvm::SmallVector<double>()))
    factors.push_back(factor);
  return factors;
}

static void addNearest(Table &t, llvm::StringRef prefix, Filter filter) {
  t.opmath((prefix + "1d").str(),
           [=](B &b, T x, Any, Factor s) { return resize(b, x, filter, false, {s}); });
  t.opmath((prefix + "2d").str(),
           [=](B &b, T x, Any, Factor h, Factor w) { return resize(b, x, filter, false, {h, w}); });
  t.opmath((prefix + "3d").str(),
           [=](B &b, T x, Any, Factor d, Factor h, Factor w) { return resize(b, x, filter, false, {d, h, w}); });
  std::string vec = (prefix + "1d.vec " + prefix + "2d.vec " + prefix + "3d.vec").str();
  t.opmath(vec, [=](B &b, T x, Any, Floats factors) { return resize(b, x, filter, false, factorsOf(factors)); });
}

static void addSmooth(Table &t) {
  t.opmath("upsample_linear1d", [](B &b, T x, Any, bool align, Factor s) {
    return resize(b, x, Filter::Linear, align, {s});
  });
  t.opmath("upsample_bilinear2d", [](B &b, T x, Any, bool align, Factor h, Factor w) {
    return resize(b, x, Filter::Linear, align, {h, w});
  });
  t.opmath("upsample_trilinear3d", [](B &b, T x, Any, bool align, Factor d, Factor h, Factor w) {
    return resize(b, x, Filter::Linear, align, {d, h, w});
  });
  t.opmath("upsample_bicubic2d", [](B &b, T x, Any, bool align, Factor h, Factor w) {
    return resize(b, x, Filter::Cubic, align, {h, w});
  });
  t.opmath("upsample_linear1d.vec upsample_bilinear2d.vec upsample_trilinear3d.vec",
           [](B &b, T x, Any, bool align, Floats factors) {
             return resize(b, x, Filter::Linear, align, factorsOf(factors));
           });
  t.opmath("upsample_bicubic2d.vec", [](B &b, T x, Any, bool align, Floats factors) {
    return resize(b, x, Filter::Cubic, align, factorsOf(factors));
  });
}

static void addAntialiased(Table &t, llvm::StringRef name, Filter filter) {
  t.opmath(name.str(), [=](B &b, T x, Any, bool align, Factor h, Factor w) {
    return resizeAntialiased(b, x, filter, align, {h, w});
  });
  t.opmath((name + ".vec").str(), [=](B &b, T x, Any, bool align, Floats factors) {
    auto both = factorsOf(factors);
    both.resize(2);
    return resizeAntialiased(b, x, filter, align, both);
  });
}

void addResize(Table &t) {
  addNearest(t, "upsample_nearest", Filter::Nearest);
  addNearest(t, "_upsample_nearest_exact", Filter::NearestExact);
  addSmooth(t);
  addAntialiased(t, "_upsample_bilinear2d_aa", Filter::Linear);
  addAntialiased(t, "_upsample_bicubic2d_aa", Filter::Cubic);
}

} // namespace ptc::decompose
