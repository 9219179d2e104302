//===- Factorization.cpp - factorizations, systems, determinants ----------===//

#include "compiler/graph/decompose/Matrix.h"
#include "compiler/graph/decompose/MatrixGradient.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

T matrixTranspose(B &b, T x) { return b.transpose(x, -2, -1); }

T adjoint(B &b, T x) { return b.conj(matrixTranspose(b, x)); }

T identityLike(B &b, T x, AffineExpr n) {
  Shape matrix{n, n}, sizes = x.sizes();
  sizes[sizes.size() - 1] = sizes[sizes.size() - 2] = n;
  T eye = b.to(b.iota(matrix, 0, b.i64()) == b.iota(matrix, 1, b.i64()), x.dtype());
  return b.expand(eye, sizes);
}

/// The dimensions before the last `own` ones, expanded to what both have.
static void expandBatch(B &b, T &x, int64_t xOwn, T &y, int64_t yOwn) {
  auto lead = [](T z, int64_t own) { return Shape(ShapeRef(z.sizes()).drop_back(own)); };
  Shape batch = b.broadcastShapes(lead(x, xOwn), lead(y, yOwn));
  auto expand = [&](T z, int64_t own) {
    Shape sizes(batch);
    llvm::append_range(sizes, ShapeRef(z.sizes()).take_back(own));
    return b.expand(z, sizes);
  };
  x = expand(x, xOwn), y = expand(y, yOwn);
}

T triangle(B &b, T x, bool isLower, int64_t offset) {
  Shape matrix(ShapeRef(x.sizes()).take_back(2));
  T distance = b.iota(matrix, 1, b.i64()) - b.iota(matrix, 0, b.i64());
  return b.where(isLower ? distance <= offset : distance >= offset, x, 0);
}

static T status(B &b, T x) { return b.to(x, b.i32()); }

//===----------------------------------------------------------------------===//
// Triangular systems
//===----------------------------------------------------------------------===//

T solveTriangular(B &b, T a, T x, bool isUpper, bool isLeft, bool isUnit) {
  if (!isLeft)
    return matrixTranspose(b, solveTriangular(b, matrixTranspose(b, a), matrixTranspose(b, x), !isUpper, true, isUnit));
  expandBatch(b, a, 2, x, 2);
  const char *algorithm = isUpper  ? isUnit ? "solve_unit_upper" : "solve_upper"
                          : isUnit ? "solve_unit_lower"
                                   : "solve_lower";
  return b.matrix(algorithm, {a, x})[0];
}

static T choleskyFactor(B &b, T a, bool isUpper, T *info = nullptr) {
  TList factored = b.matrix("cholesky", {isUpper ? adjoint(b, a) : a});
  if (info)
    *info = status(b, factored[1]);
  T factor = withCholeskyGradient(b, factored[0], a);
  return isUpper ? adjoint(b, factor) : factor;
}

T solveCholesky(B &b, T factor, T x, bool isUpper) {
  T lower = isUpper ? adjoint(b, factor) : factor;
  return solveTriangular(b, adjoint(b, lower), solveTriangular(b, lower, x, false, true, false), true, true, false);
}

static void addTriangular(Table &t) {
  t.def("linalg_solve_triangular", [](B &b, T a, T x, bool upper, bool left, bool unit) {
    return solveTriangular(b, a, x, upper, left, unit);
  });
  t.def("triangular_solve", [](B &b, T x, T a, bool upper, bool transpose, bool unit) {
    T matrix = transpose ? matrixTranspose(b, a) : a;
    T solution = solveTriangular(b, matrix, x, upper != transpose, true, unit);
    expandBatch(b, a, 2, x, 2);
    return TList{solution, a};
  });
  t.def("cholesky linalg_cholesky", [](B &b, T a, bool upper) { return choleskyFactor(b, a, upper); });
  t.def("linalg_cholesky_ex", [](B &b, T a, bool upper, Any) {
    T info, factor = choleskyFactor(b, a, upper, &info);
    return TList{factor, info};
  });
  t.def("cholesky_solve", [](B &b, T x, T factor, bool upper) {
    T solution = solveCholesky(b, factor, x, upper);
    if (b.isTraining()) // of one batch, which their cotangents have as well
      expandBatch(b, factor, 2, x, 2);
    return withCholeskySolutionGradient(b, solution, factor, x, upper);
  });
  t.def("cholesky_inverse", [](B &b, T factor, bool upper) {
    T inverse = solveCholesky(b, factor, identityLike(b, factor, factor.size(-1)), upper);
    return withCholeskyInverseGradient(b, inverse, factor, upper);
  });
}

//===----------------------------------------------------------------------===//
// LU: pivots are those of LAPACK, row exchanges counted from 1
//===----------------------------------------------------------------------===//

/// The factors as they lie in one matrix, the pivots, the status.
static TList factorLu(B &b, T a) {
  TList factored = b.matrix("lu", {a});
  return {withLuGradient(b, factored[0], factored[1], a), b.to(factored[1], b.i32()), status(b, factored[2])};
}

T swapRows(B &b, T pivots, T x, bool isForward) {
  pivots = b.to(pivots, x.dtype());
  expandBatch(b, pivots, 1, x, 2);
  return b.matrix(isForward ? "swap_rows" : "swap_rows_back", {pivots, x})[0];
}

/// A x = b, or A^T x = b.
static T solveLu(B &b, T lu, T pivots, T x, bool isTransposed) {
  if (!isTransposed) {
    x = solveTriangular(b, lu, swapRows(b, pivots, x, true), false, true, true);
    return solveTriangular(b, lu, x, true, true, false);
  }
  T turned = matrixTranspose(b, lu);
  x = solveTriangular(b, turned, solveTriangular(b, turned, x, false, true, false), true, true, true);
  return swapRows(b, pivots, x, false);
}

/// A x = b, or x A = b; of the adjoint of A by the conjugates.
static T solveLuOnSide(B &b, T lu, T pivots, T x, bool isLeft, bool isAdjoint) {
  auto turn = [&](T y) {
    y = isLeft ? y : matrixTranspose(b, y);
    return isAdjoint ? b.conj(y) : y;
  };
  return turn(solveLu(b, lu, pivots, turn(x), isLeft == isAdjoint));
}

/// P, L and U of A = P L U, of m x n.
static TList unpackLu(B &b, T lu, T pivots) {
  AffineExpr m = lu.size(-2), k = pivots.size(-1);
  T lower = triangle(b, b.slice(lu, -1, b.size(0), k), true, -1);
  Shape matrix{m, k};
  T diagonal = b.to(b.iota(matrix, 0, b.i64()) == b.iota(matrix, 1, b.i64()), lu.dtype());
  return {swapRows(b, pivots, identityLike(b, lu, m), false), lower + diagonal,
          triangle(b, b.slice(lu, -2, b.size(0), k), false)};
}

TList solve(B &b, T a, T x, bool isLeft) {
  bool isVector = x.rank() == 1 || (a.rank() - 1 == x.rank() && x.sizes() == Shape(ShapeRef(a.sizes()).drop_back()));
  x = isVector ? b.unsqueeze(x, -1) : x;
  isLeft |= isVector;
  TList lu = factorLu(b, a);
  T solution = solveLuOnSide(b, lu[0], lu[1], x, isLeft, false);
  if (b.isTraining())
    expandBatch(b, a, 2, x, 2);
  // PyTorch's linalg_solve_backward: dX = A^-1 (dB - dA X).
  solution = b.withGradient(solution, {a, x}, [&](T grad) {
    T ofX = solveLuOnSide(b, lu[0], lu[1], grad, isLeft, true);
    return TList{-(isLeft ? b.matmul(ofX, adjoint(b, solution)) : b.matmul(adjoint(b, solution), ofX)), ofX};
  });
  TList results{isVector ? b.squeeze(solution, -1) : solution};
  results.append(lu);
  return results;
}

T inverse(B &b, T a) { return solve(b, a, identityLike(b, a, a.size(-1)), true)[0]; }

static void addLu(Table &t) {
  auto factor = [](B &b, T a, bool pivot, Rest) {
    return pivot ? factorLu(b, a) : TList{b.unsupported("a factorization without pivoting is for the GPU")};
  };
  t.def("linalg_lu_factor linalg_lu_factor_ex _lu_with_info", factor);
  t.def("linalg_lu", [](B &b, T a, bool pivot) {
    if (!pivot)
      return TList{b.unsupported("a factorization without pivoting is for the GPU")};
    TList lu = factorLu(b, a);
    return unpackLu(b, lu[0], lu[1]);
  });
  t.def("lu_unpack", [](B &b, T lu, T pivots, bool, bool) {
    TList parts = unpackLu(b, lu, pivots);
    for (auto [i, part] : llvm::enumerate(parts)) // those not asked for are empty
      if (b.hasDeclared(i) && b.declared(i).size() == 1 && part.rank() != 1)
        part = b.full(b.declared(i), 0, part.dtype());
    return parts;
  });
  t.def("lu_solve", [](B &b, T x, T lu, T pivots) { return solveLu(b, lu, pivots, x, false); });
  t.def("linalg_lu_solve", [](B &b, T lu, T pivots, T x, bool left, bool adjoint) {
    return solveLuOnSide(b, lu, pivots, x, left, adjoint);
  });
  t.def("linalg_solve _linalg_solve_ex", [](B &b, T a, T x, bool left, Rest) { return solve(b, a, x, left); });
  t.def("linalg_solve_ex", [](B &b, T a, T x, bool left, Any) {
    TList results = solve(b, a, x, left);
    return TList{results[0], results[3]};
  });
  t.def("inverse linalg_inv", [](B &b, T a) { return inverse(b, a); });
  t.def("linalg_inv_ex", [](B &b, T a, Any) {
    TList results = solve(b, a, identityLike(b, a, a.size(-1)), true);
    return TList{results[0], results[3]};
  });
  t.def("linalg_tensorinv", [](B &b, T x, int64_t split) {
    Shape sizes = x.sizes();
    AffineExpr n = product(ShapeRef(sizes).take_front(split), b.context());
    return b.reshape(inverse(b, b.reshape(x, {n, n})), b.declared());
  });
  t.def("linalg_tensorsolve", [](B &b, T a, T x, std::optional<Dims> dims) {
    if (dims) { // to the end, in their order
      Dims order, moved;
      for (int64_t dim : *dims)
        moved.push_back(b.dim(a, dim));
      for (int64_t d = 0; d < a.rank(); ++d)
        if (!llvm::is_contained(moved, d))
          order.push_back(d);
      order.append(moved);
      a = b.permute(a, order);
    }
    T flat = b.reshape(x, x.rank() ? x.numel() : b.size(1));
    return b.reshape(solve(b, b.reshape(a, {flat.size(0), flat.size(0)}), flat, true)[0], b.declared());
  });
  t.def("linalg_ldl_factor linalg_ldl_factor_ex", [](B &b, T a, bool hermitian, Rest) {
    TList factored = b.matrix(hermitian ? "ldl_hermitian" : "ldl", {a});
    return TList{triangle(b, factored[0], true), b.to(factored[1], b.i32()), status(b, factored[2])};
  });
  t.def("linalg_ldl_solve", [](B &b, T ld, T pivots, T x, bool hermitian) {
    pivots = b.to(pivots, x.dtype());
    expandBatch(b, ld, 2, x, 2);
    expandBatch(b, pivots, 1, x, 2);
    return b.matrix(hermitian ? "ldl_hermitian_solve" : "ldl_solve", {ld, pivots, x})[0];
  });
}

//===----------------------------------------------------------------------===//
// Determinants
//===----------------------------------------------------------------------===//

namespace {
struct Determinant {
  T diagonal; ///< of the triangular factor
  T sign;     ///< of the permutation
  TList lu;
};
} // namespace

/// The factors are those that PyTorch keeps for gradients: of the transposed matrix, which is as good and which LAPACK
/// takes from rows without a copy, but for complex numbers. (Functionalize turns matrices that do not lie in rows.)
static Determinant determinant(B &b, T a) {
  TList lu = factorLu(b, isComplex(a.dtype()) ? a : matrixTranspose(b, a));
  T onDiagonal = identityLike(b, a, a.size(-1));
  T diagonal = b.sum(lu[0] * onDiagonal, {-1});
  T isSwapped = lu[1] != b.range(a.size(-1), b.i32()) + 1;
  return {diagonal, b.reduce("prod", b.where(isSwapped, b.full({}, -1, a.dtype()), 1), {-1}, false), lu};
}

/// Jacobi's formula, det(A) A^-1 turned and conjugated; a pivot of 0 is a small number (PyTorch's linalg_det_backward).
static T withDeterminantGradient(B &b, T product, TList lu, T a) {
  return b.withGradient(product, a, [&](T grad) {
    T one = identityLike(b, a, a.size(-1)), scale = grad * b.conj(product);
    T least = b.full({}, epsilon(b.real(product).dtype()), a.dtype());
    T factors = b.where((lu[0] == 0) & (one != 0), least, lu[0]);
    T sides = one * b.unsqueeze(b.unsqueeze(scale, -1), -1);
    return solveLuOnSide(b, factors, lu[1], sides, true, isComplex(a.dtype()));
  });
}

static std::pair<T, T> signAndLog(B &b, const Determinant &d) {
  return {d.sign * b.reduce("prod", b.sign(d.diagonal), {-1}, false), b.sum(b.log(b.abs(d.diagonal)), {-1})};
}

static void addDeterminants(Table &t) {
  t.def("det linalg_det _linalg_det", [](B &b, T a) {
    Determinant d = determinant(b, a);
    T product = d.sign * b.reduce("prod", d.diagonal, {-1}, false);
    return TList{withDeterminantGradient(b, product, d.lu, a), d.lu[0], d.lu[1]};
  });
  t.def("slogdet linalg_slogdet _linalg_slogdet", [](B &b, T a) {
    Determinant d = determinant(b, a);
    auto [sign, logarithm] = signAndLog(b, d);
    return TList{sign, logarithm, d.lu[0], d.lu[1]};
  });
  t.def("logdet", [](B &b, T a) {
    auto [sign, logarithm] = signAndLog(b, determinant(b, a));
    return logarithm + b.log(sign); // of -1: NaN
  });
}

void addFactorization(Table &t) {
  addTriangular(t);
  addLu(t);
  addDeterminants(t);
}

} // namespace ptc::decompose
