//===- Linalg.cpp - norms and distances -----------------------------------===//

#include "compiler/graph/decompose/Norm.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

using mlir::AffineExpr;

/// What a reduction of x over `dims` has given, with these dimensions of size 1.
static T restored(B &b, T reduced, T x, DimsRef dims) {
  Shape sizes = x.sizes();
  for (int64_t d : b.dims(x, dims))
    sizes[d] = b.size(1);
  return b.reshape(reduced, sizes);
}

/// p is neither 0 nor 1 nor an infinity. The derivative is 0 where the norm is, and of elements that are 0 whose power
/// has none (PyTorch's norm_backward).
static T rootOfPowers(B &b, T x, double p, DimsRef dims, bool keepdim) {
  if (p == 2)
    return b.zeroSafeSqrt(b.sum(b.square(x), dims, keepdim));
  T root = b.pow(b.sum(b.pow(b.abs(x), p), dims, keepdim), 1 / p);
  return b.withGradient(root, x, [&](T grad) {
    T length = restored(b, root, x, dims), scale = restored(b, grad, x, dims) * b.pow(length, 1 - p);
    T slope = b.sign(x) * b.pow(b.abs(x), p - 1);
    return p < 1 ? b.where(x == 0, 0.0, slope * scale) : slope * b.where(length == 0, 0.0, scale);
  });
}

T norm(B &b, T x, double p, DimsRef dims, bool keepdim) {
  x = isComplex(x.dtype()) ? b.abs(x) : x;
  if (p == 0)
    return b.sum(b.to(x != 0, x.dtype()), dims, keepdim);
  if (std::isinf(p) || p < 0)
    b.requireElements(x, dims);
  if (std::isinf(p))
    return p > 0 ? b.max(b.abs(x), dims, keepdim) : b.min(b.abs(x), dims, keepdim);
  // Of one element it is the magnitude, whose power may be no number of the type.
  AffineExpr count = b.count(x, dims);
  if (p == 1 || b.isOne(count))
    return b.sum(b.abs(x), dims, keepdim);
  T root = rootOfPowers(b, x, p, dims, keepdim);
  if (b.range(count).min > 1 || getConstant(count))
    return root;
  return b.where(b.tensor(T(count), b.i64()) == 1, b.sum(b.abs(x), dims, keepdim), root);
}

static T converted(B &b, T x, Dtype dtype) { return b.toOpmath(b.toFloating(dtype ? b.to(x, dtype) : x)); }

static void addNorms(Table &t) {
  t.def("linalg_vector_norm", [](B &b, T x, T p, Dims dims, bool keepdim, Dtype dtype) {
    return norm(b, converted(b, x, dtype), p.real(), dims, keepdim);
  });
  t.def("norm.Scalar", [](B &b, T x, T p) { return norm(b, converted(b, x, {}), p.real(), {}, false); });
  t.def("norm.ScalarOpt_dim", [](B &b, T x, OptT p, Dims dims, bool keepdim) {
    return norm(b, converted(b, x, {}), p.value_or(2).real(), dims, keepdim);
  });
  t.def("norm.ScalarOpt_dim_dtype", [](B &b, T x, OptT p, Dims dims, bool keepdim, Dtype dtype) {
    return norm(b, converted(b, x, dtype), p.value_or(2).real(), dims, keepdim);
  });
  t.def("norm.ScalarOpt_dtype", [](B &b, T x, OptT p, Dtype dtype) {
    return norm(b, converted(b, x, dtype), p.value_or(2).real(), {}, false);
  });
  t.def("frobenius_norm.dim",
        [](B &b, T x, Dims dims, bool keepdim) { return norm(b, converted(b, x, {}), 2, dims, keepdim); });
}

/// Over all dimensions but one, which stays.
static T normExcept(B &b, T v, double p, int64_t dim) {
  Dims others;
  for (int64_t d = 0; d < v.rank(); ++d)
    if (dim == -1 || d != b.dim(v, dim))
      others.push_back(d);
  T kept = others.empty() ? b.abs(v) : norm(b, v, p, others, true);
  return dim == -1 ? b.reshape(kept, {}) : kept;
}

static void addWeightNorms(Table &t) {
  t.opmath("norm_except_dim",
           [](B &b, T v, int64_t p, int64_t dim) { return normExcept(b, v, double(p), dim); });
  t.opmath("_weight_norm", [](B &b, T v, T g, int64_t dim) { return v * (g / normExcept(b, v, 2, dim)); });
  t.opmath("_weight_norm_interface", [](B &b, T v, T g, int64_t dim) {
    T length = normExcept(b, v, 2, dim);
    return TList{v * (g / length), length};
  });
  t.opmath("renorm", [](B &b, T x, T p, int64_t dim, T largest) {
    T length = normExcept(b, x, p.real(), b.dim(x, dim));
    return x * b.where(length > largest, largest / (length + 1e-7), 1.0);
  });
}

/// All pairs i < j of n numbers in order, `count` of them. Those with i begin at place i (2 n - 1 - i) / 2: i of a
/// place is a root of that, which rounding may have moved by one.
static std::pair<T, T> pairsOf(B &b, AffineExpr n, AffineExpr count) {
  T place = b.range(count, b.i64()), twice = b.tensor(T(n * 2 - 1), b.i64());
  auto begin = [&](T i) { return b.truncDivide(i * (twice - i), 2); };
  T width = b.to(twice, b.f64());
  T i = b.to((width - b.sqrt(b.maximum(b.square(width) - b.to(place * 8, b.f64()), 0.0))) * 0.5, b.i64());
  i = b.where(begin(i) > place, i - 1, i);
  i = b.where(begin(i + 1) <= place, i + 1, i);
  return {i, place - begin(i) + i + 1};
}

/// The norm of a difference along the last dimension. Of the largest magnitude all that have it get the whole
/// derivative, where a norm's is shared (PyTorch's cdist_backward).
static T distance(B &b, T difference, double p) {
  T length = norm(b, difference, p, {-1}, false);
  if (!std::isinf(p))
    return length;
  return b.withGradient(length, difference, [&](T grad) {
    T isIt = b.abs(difference) == b.unsqueeze(length, -1);
    return b.where(isIt, b.sign(difference) * b.unsqueeze(grad, -1), 0.0);
  });
}

static void addDistances(Table &t) {
  t.opmath("dist", [](B &b, T x, T y, T p) { return norm(b, x - y, p.real(), {}, false); });
  t.opmath("pairwise_distance", [](B &b, T x, T y, double p, double eps, bool keepdim) {
    return norm(b, x - y + eps, p, {-1}, keepdim);
  });
  t.opmath("pdist _pdist_forward", [](B &b, T x, double p) {
    auto distances = [&](T first, T second) {
      return distance(b, b.gather(x, {first}, {0}) - b.gather(x, {second}, {0}), p);
    };
    auto n = getConstant(x.size(0));
    if (!n || *n > 4096) { // of more the pairs are counted when the program runs
      AffineExpr size = x.size(0);
      auto [first, second] = pairsOf(b, size, n ? (size * (size - 1)).floorDiv(2) : b.declared()[0]);
      return distances(first, second);
    }
    if (*n < 2)
      return b.full(b.declared(), 0, x.dtype());
    llvm::SmallVector<int64_t> first, second;
    for (int64_t i = 0; i < *n; ++i)
      for (int64_t j = i + 1; j < *n; ++j) {
        first.push_back(i);
        second.push_back(j);
      }
    return distances(b.constant(first), b.constant(second));
  });
  t.opmath("cdist _cdist_forward",
           [](B &b, T x, T y, double p, Any) { return distance(b, b.unsqueeze(x, -2) - b.unsqueeze(y, -3), p); });
  t.floating("cosine_similarity", [](B &b, T x, T y, int64_t dim, double eps) {
    Shape sizes = b.broadcastShapes({x, y});
    x = b.expand(x, sizes), y = b.expand(y, sizes);
    // PyTorch bounds the lengths where no derivative is recorded: it is the length's.
    auto length = [&](T v) {
      T own = norm(b, v, 2, {dim}, true);
      return b.withGradient(b.maximum(own, eps), own, [](T grad) { return grad; });
    };
    T xLength = length(x), yLength = length(y);
    return b.sum((x / xLength) * (y / yLength), {dim});
  });
}

/// The three elements along `dim`, moved up by one.
static T rotate(B &b, T x, int64_t dim) {
  return b.cat({b.slice(x, dim, b.size(1), b.size(3)), b.slice(x, dim, b.size(0), b.size(1))}, dim);
}

static T cross(B &b, T x, T y, int64_t dim) {
  Shape sizes = b.broadcastShapes({x, y});
  x = b.expand(x, sizes), y = b.expand(y, sizes);
  T xNext = rotate(b, x, dim), yNext = rotate(b, y, dim);
  return xNext * rotate(b, yNext, dim) - rotate(b, xNext, dim) * yNext;
}

/// 1, x, x^2, ... along a new last dimension of n elements.
static T powers(B &b, T x, AffineExpr n) {
  Shape repeated = x.sizes();
  repeated.push_back(n);
  T factors = b.expand(b.unsqueeze(x, -1), repeated), place = b.iota(repeated, x.rank(), b.i64());
  return b.scan("prod", b.where(place == 0, b.full({}, 1, x.dtype()), factors), -1);
}

void addLinalg(Table &t) {
  t.def("linalg_vander", [](B &b, T x, OptInt) {
    return powers(b, x.rank() ? x : b.unsqueeze(x, 0), b.declared().back());
  });
  t.def("vander", [](B &b, T x, OptInt, bool increasing) {
    T result = powers(b, x, b.declared().back());
    return increasing ? result : b.reverse(result, {1});
  });
  addNorms(t);
  addWeightNorms(t);
  addDistances(t);
  t.def("linalg_cross", [](B &b, T x, T y, int64_t dim) { return cross(b, x, y, dim); });
  t.def("cross", [](B &b, T x, T y, std::optional<int64_t> dim) {
    for (int64_t d = 0; !dim && d < x.rank(); ++d)
      if (getConstant(x.size(d)) == 3)
        dim = d;
    return cross(b, x, y, dim.value_or(-1));
  });
}

} // namespace ptc::decompose
