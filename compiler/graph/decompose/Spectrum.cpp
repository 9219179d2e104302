//===- Spectrum.cpp - singular values and what follows from them ----------===//
//
// Vectors belong to eigenvalues and singular values only up to a sign (or more):
// as PyTorch says, which one is returned is left to whoever computes it.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/Matrix.h"
#include "compiler/graph/decompose/MatrixGradient.h"
#include "compiler/graph/decompose/Norm.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
/// A = left * values * right; for k = min(m, n): m x k, k, k x n.
struct Singular {
  T left, values, right;
};
} // namespace

static Singular decompose(B &b, T a) {
  TList parts = b.matrix("svd", {a});
  Singular s{parts[0], b.real(parts[1]), parts[2]};
  addSingularGradient(b, s.left, s.values, s.right, a);
  return s;
}

/// Eigenvalues and eigenvectors of the Hermitian matrix that a triangle gives.
static TList decomposeHermitian(B &b, T a, Str triangle) {
  TList parts = b.matrix("eigh", {triangle.starts_with_insensitive("u") ? adjoint(b, a) : a});
  T values = b.real(parts[0]), vectors = parts[1];
  addHermitianGradient(b, values, vectors, a);
  return {values, vectors};
}

/// Those of a matrix without symmetry, which are complex.
static TList decomposeGeneral(B &b, T a) {
  a = isComplex(a.dtype()) ? a : b.to(a, mlir::ComplexType::get(a.dtype()));
  TList parts = b.matrix("eig", {a});
  addEigenGradient(b, parts[0], parts[1], a);
  return parts;
}

//===----------------------------------------------------------------------===//
// Norms of matrices
//===----------------------------------------------------------------------===//

/// Over the last two dimensions.
static T normOf(B &b, T a, double p) {
  if (std::abs(p) == 2) {
    T values = decompose(b, a).values;
    return p > 0 ? b.max(values, {-1}) : b.min(values, {-1});
  }
  if (std::abs(p) != 1 && !std::isinf(p))
    return b.unsupported("no matrix norm has this order");
  T sums = b.sum(b.abs(a), {std::abs(p) == 1 ? -2 : -1});
  if (getConstant(sums.size(-1)) == 0)
    return b.sum(sums, {-1});
  return p > 0 ? b.max(sums, {-1}) : b.min(sums, {-1});
}

static T normOf(B &b, T a, Str order) {
  if (order == "fro")
    return norm(b, a, 2, {-2, -1}, false);
  T values = decompose(b, a).values;
  return b.sum(values, {-1});
}

template <class Order> static T matrixNorm(B &b, T x, Order order, Dims dims, bool keepdim) {
  int64_t first = b.dim(x, dims[0]), second = b.dim(x, dims[1]);
  // `first` becomes the last but one; taking it out moves those behind it.
  T moved = b.moveDim(b.moveDim(x, first, -1), second > first ? second - 1 : second, -1);
  T result = normOf(b, moved, order);
  if (!result || !keepdim)
    return result;
  Shape sizes = x.sizes();
  sizes[first] = sizes[second] = b.size(1);
  return b.reshape(result, sizes);
}

static T converted(B &b, T x, Dtype dtype) { return b.toOpmath(b.toFloating(dtype ? b.to(x, dtype) : x)); }

static void addNorms(Table &t) {
  t.def("linalg_norm", [](B &b, T x, OptT p, Dims dims, bool keepdim, Dtype dtype) {
    x = converted(b, x, dtype);
    bool isMatrix = p && (dims.size() == 2 || (dims.empty() && x.rank() == 2));
    if (isMatrix)
      return matrixNorm(b, x, p->real(), dims.empty() ? Dims{0, 1} : dims, keepdim);
    return norm(b, x, p.value_or(2).real(), dims, keepdim);
  });
  t.def("linalg_norm.ord_str", [](B &b, T x, Str order, Dims dims, bool keepdim, Dtype dtype) {
    return matrixNorm(b, converted(b, x, dtype), order, dims.empty() ? Dims{0, 1} : dims, keepdim);
  });
  t.def("linalg_matrix_norm", [](B &b, T x, T p, Dims dims, bool keepdim, Dtype dtype) {
    return matrixNorm(b, converted(b, x, dtype), p.real(), dims, keepdim);
  });
  t.def("linalg_matrix_norm.str_ord", [](B &b, T x, Str order, Dims dims, bool keepdim, Dtype dtype) {
    return matrixNorm(b, converted(b, x, dtype), order, dims, keepdim);
  });
  t.def("nuclear_norm", [](B &b, T x, bool keepdim) { return matrixNorm(b, x, Str("nuc"), {0, 1}, keepdim); });
  t.def("nuclear_norm.dim",
        [](B &b, T x, Dims dims, bool keepdim) { return matrixNorm(b, x, Str("nuc"), dims, keepdim); });
}

template <class Order> static T condition(B &b, T a, Order order) {
  T ratio = normOf(b, a, order) * normOf(b, inverse(b, a), order);
  return b.where(b.isNan(ratio) & b.logicalNot(b.any(b.isNan(a), {-2, -1})), std::numeric_limits<double>::infinity(),
                 ratio);
}

static void addConditions(Table &t) {
  t.def("linalg_cond", [](B &b, T a, OptT p) {
    double order = p.value_or(2).real();
    if (std::abs(order) != 2)
      return condition(b, a, order);
    T values = decompose(b, a).values;
    T largest = b.max(values, {-1}), least = b.min(values, {-1});
    return order > 0 ? largest / least : least / largest;
  });
  t.def("linalg_cond.p_str", [](B &b, T a, Str order) { return condition(b, a, order); });
}

//===----------------------------------------------------------------------===//
// Rank and pseudo-inverse
//===----------------------------------------------------------------------===//

/// What values up to which count as zero: the larger of an absolute tolerance
/// and one relative to the largest. Each may be missing.
static T tolerance(B &b, T a, T magnitudes, OptT absolute, OptT relative) {
  mlir::Type type = magnitudes.dtype();
  AffineExpr m = a.size(-2), n = a.size(-1);
  T side = b.maximum(b.to(b.tensor(T(m), b.i64()), type), b.to(b.tensor(T(n), b.i64()), type));
  auto given = [&](T x) { return x.isTensor() ? b.to(x, type) : b.tensor(x, type); };
  T usual = side * epsilon(type), least = absolute ? given(*absolute) : b.full({}, 0, type);
  T factor = relative ? given(*relative) : absolute ? b.where(least > 0.0, 0.0, usual) : usual;
  T largest = getConstant(magnitudes.size(-1)) == 0 ? b.sum(magnitudes, {-1}) : b.max(magnitudes, {-1});
  return b.unsqueeze(b.maximum(least, factor * largest), -1);
}

static T rank(B &b, T a, OptT absolute, OptT relative, bool isHermitian) {
  T magnitudes = isHermitian ? b.abs(decomposeHermitian(b, a, "L")[0]) : decompose(b, a).values;
  if (!magnitudes)
    return magnitudes;
  return b.sum(b.to(magnitudes > tolerance(b, a, magnitudes, absolute, relative), b.i64()), {-1});
}

static T pseudoInverse(B &b, T a, OptT absolute, OptT relative, bool isHermitian) {
  if (getConstant(a.numel()) == 0)
    return b.full(matrixTranspose(b, a).sizes(), 0, a.dtype());
  Singular s;
  if (isHermitian) {
    TList parts = decomposeHermitian(b, a, "L");
    s = {parts[1], parts[0], adjoint(b, parts[1])};
  } else {
    s = decompose(b, a);
  }
  if (b.hasFailed())
    return T();
  T magnitudes = b.abs(s.values);
  T isKept = magnitudes > tolerance(b, a, magnitudes, absolute, relative);
  T inverted = b.where(isKept, 1.0 / s.values, 0.0);
  T result = b.matmul(adjoint(b, s.right) * b.unsqueeze(inverted, -2), adjoint(b, s.left));
  return withPseudoInverseGradient(b, result, a);
}

static void addRanks(Table &t) {
  t.def("linalg_matrix_rank", [](B &b, T a, double tolerance, bool hermitian) {
    return rank(b, a, T(tolerance), T(0.0), hermitian);
  });
  t.def("linalg_matrix_rank.tol_tensor",
        [](B &b, T a, T tolerance, bool hermitian) { return rank(b, a, tolerance, T(0.0), hermitian); });
  t.def("linalg_matrix_rank.atol_rtol_tensor", [](B &b, T a, OptT absolute, OptT relative, bool hermitian) {
    return rank(b, a, absolute, relative, hermitian);
  });
  auto number = [](std::optional<double> x) { return x ? OptT(T(*x)) : OptT(); };
  t.def("linalg_matrix_rank.atol_rtol_float",
        [=](B &b, T a, std::optional<double> absolute, std::optional<double> relative, bool hermitian) {
          return rank(b, a, number(absolute), number(relative), hermitian);
        });
  t.def("pinverse", [](B &b, T a, double relative) { return pseudoInverse(b, a, T(0.0), T(relative), false); });
  t.def("linalg_pinv",
        [](B &b, T a, double relative, bool hermitian) { return pseudoInverse(b, a, T(0.0), T(relative), hermitian); });
  t.def("linalg_pinv.rcond_tensor",
        [](B &b, T a, T relative, bool hermitian) { return pseudoInverse(b, a, T(0.0), relative, hermitian); });
  t.def("linalg_pinv.atol_rtol_tensor", [](B &b, T a, OptT absolute, OptT relative, bool hermitian) {
    return pseudoInverse(b, a, absolute, relative, hermitian);
  });
  t.def("linalg_pinv.atol_rtol_float",
        [=](B &b, T a, std::optional<double> absolute, std::optional<double> relative, bool hermitian) {
          return pseudoInverse(b, a, number(absolute), number(relative), hermitian);
        });
}

//===----------------------------------------------------------------------===//
// Values and vectors
//===----------------------------------------------------------------------===//

/// U, the singular values, V^H; of vectors that nobody has asked for, zeros.
static TList singularParts(B &b, T a, bool isFull, bool hasVectors) {
  Singular s = decompose(b, a);
  if (b.hasFailed())
    return {};
  auto zeros = [&](unsigned i) { return b.hasDeclared(i) ? b.full(b.declared(i), 0, a.dtype()) : T(); };
  if (!hasVectors)
    return {zeros(0), s.values, zeros(2)};
  if (isFull)
    s = {completeBasis(b, s.left), s.values, adjoint(b, completeBasis(b, adjoint(b, s.right)))};
  return {s.left, s.values, s.right};
}

void addSpectrum(Table &t) {
  addNorms(t);
  addConditions(t);
  addRanks(t);
  t.def("linalg_svdvals", [](B &b, T a, Any) { return decompose(b, a).values; });
  t.def("linalg_svd", [](B &b, T a, bool isFull, Rest) { return singularParts(b, a, isFull, true); });
  t.def("_linalg_svd", [](B &b, T a, bool isFull, bool hasVectors, Rest) {
    return singularParts(b, a, isFull, hasVectors);
  });
  t.def("svd", [](B &b, T a, bool isReduced, bool hasVectors) {
    TList parts = singularParts(b, a, !isReduced, hasVectors);
    return hasVectors && parts.size() == 3 ? TList{parts[0], parts[1], adjoint(b, parts[2])} : parts;
  });
  t.def("linalg_eigvalsh", [](B &b, T a, Str triangle) { return decomposeHermitian(b, a, triangle)[0]; });
  t.def("linalg_eigh _linalg_eigh", [](B &b, T a, Str triangle, Rest) { return decomposeHermitian(b, a, triangle); });
  t.def("linalg_eigvals _linalg_eigvals", [](B &b, T a) { return decomposeGeneral(b, a)[0]; });
  t.def("linalg_eig", [](B &b, T a) { return decomposeGeneral(b, a); });
  t.def("linalg_matrix_exp matrix_exp", [](B &b, T a) { return b.matrix("exp", {b.toOpmath(a)})[0]; });
  t.def("matrix_power linalg_matrix_power", [](B &b, T x, int64_t n) {
    if (n == 0)
      return identityLike(b, x, x.size(-1));
    T power;
    for (T square = n < 0 ? inverse(b, x) : x; n; n /= 2) {
      if (n % 2)
        power = power ? b.matmul(power, square) : square;
      if (std::abs(n) > 1)
        square = b.matmul(square, square);
    }
    return power;
  });
}

} // namespace ptc::decompose
