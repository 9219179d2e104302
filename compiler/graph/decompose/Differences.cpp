//===- Differences.cpp - of neighbours, and sums of areas -----------------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// x[1:] - x[:-1], n times.
static T difference(B &b, T x, int64_t n, int64_t dim) {
  auto known = getConstant(x.size(b.dim(x, dim)));
  n = checkMost(known ? std::min(n, *known) : n, kMostUnrolled);
  for (int64_t i = 0; i < n; ++i) {
    AffineExpr size = x.size(b.dim(x, dim));
    if (getConstant(size) == 0)
      return x;
    T after = b.slice(x, dim, b.size(1), size), before = b.slice(x, dim, b.size(0), size - 1);
    x = isBool(x.dtype()) ? after ^ before : after - before;
  }
  return x;
}

/// Means of neighbours.
static T middles(B &b, T y, int64_t dim) {
  AffineExpr n = y.size(dim);
  if (getConstant(n) == 0)
    return y;
  return (b.slice(y, dim, b.size(1), n) + b.slice(y, dim, b.size(0), n - 1)) / 2.0;
}

/// Distances of neighbours among the places x of the elements of y along `dim`.
static T widths(B &b, T y, T x, int64_t dim) {
  if (x.rank() == 1) {
    T width = difference(b, x, 1, 0);
    Shape sizes(y.rank(), b.size(1));
    sizes[dim] = width.size(0);
    return b.reshape(width, sizes);
  }
  while (x.rank() < y.rank())
    x = b.unsqueeze(x, 0);
  return difference(b, x, 1, dim);
}

/// As PyTorch has it, where infinities show which formula it was.
static T evenArea(B &b, T y, T dx, int64_t dim) {
  dim = b.dim(y, dim);
  AffineExpr n = y.size(dim);
  if (getConstant(n) == 0)
    return b.full(b.declared(), 0, y.dtype());
  return (b.sum(y, {dim}) - (b.select(y, dim, b.size(0)) + b.select(y, dim, n - 1)) * 0.5) * dx;
}

static void addAreas(Table &t) {
  t.floating("trapezoid.dx", [](B &b, T y, T dx, int64_t dim) { return evenArea(b, y, dx, dim); });
  t.floating("trapz.dx", [](B &b, T y, double dx, int64_t dim) { return evenArea(b, y, dx, dim); });
  t.floating("trapezoid.x trapz.x", [](B &b, T y, T x, int64_t dim) {
    dim = b.dim(y, dim);
    return b.sum(middles(b, y, dim) * widths(b, y, x, dim), {dim});
  });
  t.floating("cumulative_trapezoid.dx", [](B &b, T y, T dx, int64_t dim) {
    return b.scan("sum", middles(b, y, b.dim(y, dim)) * dx, dim);
  });
  t.floating("cumulative_trapezoid.x", [](B &b, T y, T x, int64_t dim) {
    dim = b.dim(y, dim);
    return b.scan("sum", middles(b, y, dim) * widths(b, y, x, dim), dim);
  });
}

//===----------------------------------------------------------------------===//
// gradient
//===----------------------------------------------------------------------===//

/// `spacing`: a number, or the coordinates of the elements along `dim`.
static T slope(B &b, T x, T spacing, int64_t dim, int64_t edgeOrder) {
  dim = b.dim(x, dim);
  AffineExpr n = x.size(dim);
  b.require(b.size(edgeOrder + 1), n);
  auto part = [&](T v, int64_t d, AffineExpr from, AffineExpr to) { return b.slice(v, d, from, to); };
  auto shaped = [&](T v) {
    Shape sizes(x.rank(), b.size(1));
    sizes[dim] = v.size(0);
    return b.reshape(v, sizes);
  };
  bool isEven = spacing.isNumber();
  T steps = isEven ? spacing : shaped(difference(b, spacing, 1, 0));
  auto step = [&](AffineExpr from, AffineExpr to) { return isEven ? steps : part(steps, dim, from, to); };
  auto at = [&](AffineExpr i) { return part(x, dim, i, i + 1); };
  T left = part(x, dim, b.size(0), n - 2), middle = part(x, dim, b.size(1), n - 1), right = part(x, dim, b.size(2), n);
  T h = step(b.size(0), n - 2), k = step(b.size(1), n - 1);
  T inner = isEven ? (right - left) / (2.0 * h)
                   : (right * h * h - left * k * k + middle * (k * k - h * h)) / (h * k * (h + k));
  T first, last;
  if (edgeOrder == 1) {
    first = (at(b.size(1)) - at(b.size(0))) / step(b.size(0), b.size(1));
    last = (at(n - 1) - at(n - 2)) / step(n - 2, n - 1);
  } else {
    // The parabola through the three outermost elements, at its end.
    auto edge = [&](T a, T c, T e, T near, T far) {
      T all = near + far;
      return (a * (-1.0) * (near + all) / near / all) + c * all / (near * far) - e * near / (far * all);
    };
    first = edge(at(b.size(0)), at(b.size(1)), at(b.size(2)), step(b.size(0), b.size(1)), step(b.size(1), b.size(2)));
    last = -edge(at(n - 1), at(n - 2), at(n - 3), step(n - 2, n - 1), step(n - 3, n - 2));
  }
  return b.cat({first, inner, last}, dim);
}

/// Along each of `dims` (all when there are none), with the spacing of each or one for all.
static TList gradient(B &b, T x, TList spacing, std::optional<Dims> dims, int64_t edgeOrder) {
  Dims along = dims ? *dims : b.dims(x, {});
  TList results;
  for (size_t i = 0; i < along.size(); ++i)
    results.push_back(slope(b, x, spacing.size() == 1 ? spacing[0] : spacing[i], along[i], edgeOrder));
  return results;
}

static std::optional<Dims> only(std::optional<int64_t> dim) { return dim ? std::optional(Dims{*dim}) : std::nullopt; }

static void addGradient(Table &t) {
  t.floating("gradient.scalarint", [](B &b, T x, OptT spacing, std::optional<int64_t> dim, int64_t order) {
    return gradient(b, x, {spacing.value_or(1.0)}, only(dim), order);
  });
  t.floating("gradient.scalararray", [](B &b, T x, T spacing, Dims dims, int64_t order) {
    return gradient(b, x, {spacing}, dims, order);
  });
  t.floating("gradient.array", [](B &b, T x, Dims dims, int64_t order) { return gradient(b, x, {1.0}, dims, order); });
  t.floating("gradient.scalarrayint", [](B &b, T x, Scalars spacing, std::optional<int64_t> dim, int64_t order) {
    return gradient(b, x, TList(spacing.begin(), spacing.end()), only(dim), order);
  });
  t.floating("gradient.scalarrayarray", [](B &b, T x, Scalars spacing, Dims dims, int64_t order) {
    return gradient(b, x, TList(spacing.begin(), spacing.end()), dims, order);
  });
  t.floating("gradient.tensorarrayint", [](B &b, T x, TList places, std::optional<int64_t> dim, int64_t order) {
    return gradient(b, x, places, only(dim), order);
  });
  t.floating("gradient.tensorarray", [](B &b, T x, TList places, Dims dims, int64_t order) {
    return gradient(b, x, places, dims, order);
  });
}

void addDifferences(Table &t) {
  t.def("diff", [](B &b, T x, int64_t n, int64_t dim, OptT prepend, OptT append) {
    if (prepend || append) {
      TList parts{x};
      if (prepend)
        parts.insert(parts.begin(), *prepend);
      if (append)
        parts.push_back(*append);
      x = b.cat(parts, dim);
    }
    return difference(b, x, n, dim);
  });
  addAreas(t);
  addGradient(t);
}

} // namespace ptc::decompose
