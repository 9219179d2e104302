#include "compiler/graph/decompose/MatrixGradient.h"

#include "compiler/graph/decompose/Matrix.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// Elements whose column is at least, or at most, their row plus `offset`; elsewhere 0.
static T upper(B &b, T x, int64_t offset = 0) { return triangle(b, x, false, offset); }
static T lower(B &b, T x, int64_t offset = 0) { return triangle(b, x, true, offset); }

static T isOnDiagonal(B &b, T x) {
  Shape matrix(ShapeRef(x.sizes()).take_back(2));
  return b.iota(matrix, 0, b.i64()) == b.iota(matrix, 1, b.i64());
}

/// The diagonal of each square matrix.
static T diagonal(B &b, T x) { return b.sum(b.where(isOnDiagonal(b, x), x, 0), {-1}); }
static T diagonalMatrix(B &b, T numbers, T like) { return b.where(isOnDiagonal(b, like), b.unsqueeze(numbers, -1), 0); }

static T scaleColumns(B &b, T x, T by) { return x * b.unsqueeze(by, -2); }
static T scaleRows(B &b, T x, T by) { return x * b.unsqueeze(by, -1); }

/// At i, j, what the j-th number is above the i-th; on the diagonal 1.
static T distances(B &b, T numbers) {
  T distance = b.unsqueeze(numbers, -2) - b.unsqueeze(numbers, -1);
  return b.where(isOnDiagonal(b, distance), 1, distance);
}

/// Rows, or columns, from `first` to `last`.
static T rows(B &b, T x, AffineExpr first, AffineExpr last) { return b.slice(x, -2, first, last); }
static T columns(B &b, T x, AffineExpr first, AffineExpr last) { return b.slice(x, -1, first, last); }

//===----------------------------------------------------------------------===//
// Cholesky
//===----------------------------------------------------------------------===//

/// dL = L phi(L^-1 dA L^-H), where phi takes the lower triangle and halves the diagonal (Murray, "Differentiation of
/// the Cholesky decomposition", 2016; PyTorch's cholesky_backward).
T withCholeskyGradient(B &b, T factor, T a) {
  return b.withGradient(factor, a, [&](T grad) {
    T inner = lower(b, b.matmul(adjoint(b, factor), grad));
    T symmetric = (inner + b.where(isOnDiagonal(b, inner), 0, adjoint(b, inner))) * 0.5;
    T left = solveTriangular(b, adjoint(b, factor), symmetric, true, true, false);
    return solveTriangular(b, factor, left, false, false, false);
  });
}

/// By the whole factor, as PyTorch's cholesky_solve_backward: its triangle is no part of the formula.
T withCholeskySolutionGradient(B &b, T solution, T factor, T y, bool isUpper) {
  return b.withGradient(solution, {factor, y}, [&](T grad) {
    T ofY = solveCholesky(b, factor, grad, isUpper), product = b.matmul(ofY, adjoint(b, solution));
    product = product + adjoint(b, product);
    return TList{-(isUpper ? b.matmul(factor, product) : b.matmul(product, factor)), ofY};
  });
}

/// PyTorch's cholesky_inverse_backward.
T withCholeskyInverseGradient(B &b, T inverse, T factor, bool isUpper) {
  return b.withGradient(inverse, factor, [&](T grad) {
    T product = b.matmul(inverse, b.matmul(grad + adjoint(b, grad), inverse));
    return -(isUpper ? b.matmul(factor, product) : b.matmul(product, factor));
  });
}

//===----------------------------------------------------------------------===//
// LU and QR
//===----------------------------------------------------------------------===//

/// With P^H A = L U, of square factors L^-1 dA U^-1 = L^-1 dL + dU U^-1: a strictly lower and an upper triangle. What
/// is below or to the right of the square is a solution with one of the factors (PyTorch's lu_factor_ex_backward).
T withLuGradient(B &b, T lu, T pivots, T a) {
  return b.withGradient(lu, a, [&](T grad) {
    AffineExpr m = lu.size(-2), n = lu.size(-1), k = pivots.size(-1), zero = b.size(0);
    bool isWide = isEqual(m, k), isTall = isEqual(n, k);
    if (!isWide && !isTall)
      return b.unsupported("the derivative of an LU factorization asks which side of the matrix is longer");
    auto square = [&](T x) { return columns(b, rows(b, x, zero, k), zero, k); };
    T factors = square(lu), turned = adjoint(b, factors), g = square(grad);
    T unit = lower(b, factors, -1) + identityLike(b, factors, k);
    T ofLower = b.matmul(adjoint(b, unit), lower(b, g, -1)),
      ofUpper = b.matmul(upper(b, g), adjoint(b, upper(b, factors)));
    if (!isWide)
      ofUpper = ofUpper - b.matmul(adjoint(b, rows(b, lu, k, m)), rows(b, grad, k, m));
    if (!isTall)
      ofLower = ofLower - b.matmul(columns(b, grad, k, n), adjoint(b, columns(b, lu, k, n)));
    auto fromLeft = [&](T x) { return solveTriangular(b, turned, x, true, true, true); };
    auto fromRight = [&](T x) { return solveTriangular(b, turned, x, false, false, false); };
    T result = fromRight(fromLeft(lower(b, ofLower, -1) + upper(b, ofUpper)));
    if (!isWide)
      result = b.cat({result, fromRight(rows(b, grad, k, m))}, -2);
    if (!isTall)
      result = b.cat({result, fromLeft(columns(b, grad, k, n))}, -1);
    return swapRows(b, pivots, result, false);
  });
}

/// By A of a square or tall A = Q R, of either part (Walter and Lehmann, "Algorithmic differentiation of linear algebra
/// functions", 2018; PyTorch's linalg_qr_backward).
static T throughQr(B &b, T q, T r, OptT ofQ, OptT ofR) {
  T inner = ofR ? b.matmul(*ofR, adjoint(b, r)) : -b.matmul(adjoint(b, q), *ofQ);
  if (ofQ && ofR)
    inner = inner - b.matmul(adjoint(b, q), *ofQ);
  inner = upper(b, inner);
  T symmetric = b.where(isOnDiagonal(b, inner), b.real(inner), inner + adjoint(b, inner));
  T result = b.matmul(q, symmetric);
  return solveTriangular(b, adjoint(b, r), ofQ ? result + *ofQ : result, false, false, false);
}

/// Of a wide A = (A1 A2), Q R1 = A1 and R2 = Q^H A2.
void addQrGradient(B &b, T &q, T &r, T a) {
  if (!b.isTraining())
    return;
  AffineExpr m = a.size(-2), n = a.size(-1), zero = b.size(0);
  bool isWide = isEqual(q.size(-1), m) && !isEqual(m, n);
  T ownQ = q, ownR = r;
  q = b.withGradient(q, a, [&](T grad) {
    if (!isWide)
      return throughQr(b, ownQ, ownR, grad, {});
    T first = throughQr(b, ownQ, columns(b, ownR, zero, m), grad, {});
    return b.padDim(first, -1, zero, n - m, 0);
  });
  r = b.withGradient(r, a, [&](T grad) {
    if (!isWide)
      return throughQr(b, ownQ, ownR, {}, grad);
    T rest = columns(b, grad, m, n), ofQ = b.matmul(columns(b, a, m, n), adjoint(b, rest));
    T first = throughQr(b, ownQ, columns(b, ownR, zero, m), ofQ, columns(b, grad, zero, m));
    return b.cat({first, b.matmul(ownQ, rest)}, -1);
  });
}

//===----------------------------------------------------------------------===//
// Spectra (Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008)
//===----------------------------------------------------------------------===//

/// PyTorch's linalg_eig_backward of Hermitian matrices: the derivative is one too.
void addHermitianGradient(B &b, T &values, T &vectors, T a) {
  if (!b.isTraining())
    return;
  T numbers = values, basis = vectors, turned = adjoint(b, basis);
  values = b.withGradient(values, a, [&](T grad) { return b.matmul(scaleColumns(b, basis, grad), turned); });
  vectors = b.withGradient(vectors, a, [&](T grad) {
    T product = b.matmul(turned, grad), inner = (product - adjoint(b, product)) * 0.5 / distances(b, numbers);
    return b.matmul(b.matmul(basis, b.where(isOnDiagonal(b, inner), 0, inner)), turned);
  });
}

/// With vectors of length 1, PyTorch's linalg_eig_backward.
void addEigenGradient(B &b, T &values, T &vectors, T a) {
  if (!b.isTraining())
    return;
  T numbers = values, basis = vectors, turned = adjoint(b, basis);
  auto outside = [&](T inner) { return solve(b, turned, b.matmul(inner, turned), true)[0]; };
  values = b.withGradient(values, a, [&](T grad) { return solve(b, turned, scaleRows(b, turned, grad), true)[0]; });
  vectors = b.withGradient(vectors, a, [&](T grad) {
    T along = b.matmul(turned, grad), length = b.real(diagonal(b, along));
    T inner = (along - scaleColumns(b, b.matmul(turned, basis), length)) / distances(b, b.conj(numbers));
    return outside(b.where(isOnDiagonal(b, inner), 0, inner));
  });
}

/// What is left of x outside of the space of the columns of `basis`.
static T outsideOf(B &b, T x, T basis) { return x - b.matmul(basis, b.matmul(adjoint(b, basis), x)); }

/// PyTorch's svd_backward. A phase that the vectors of both sides share is left with those of the left side.
void addSingularGradient(B &b, T &left, T &values, T &right, T a) {
  if (!b.isTraining())
    return;
  T u = left, s = values, vh = right;
  AffineExpr m = a.size(-2), n = a.size(-1), k = s.size(-1);
  T squares = b.unsqueeze(s, -2) + b.unsqueeze(s, -1);
  auto between = [&](T product) {
    T skew = (product - adjoint(b, product)) / (distances(b, s) * squares);
    return b.where(isOnDiagonal(b, skew), 0, skew);
  };
  values = b.withGradient(values, a, [&](T grad) { return b.matmul(scaleColumns(b, u, grad), vh); });
  left = b.withGradient(left, a, [&](T grad) {
    T product = b.matmul(adjoint(b, u), grad), inner = scaleColumns(b, between(product), s);
    if (isComplex(a.dtype())) {
      T turn = b.imag(diagonal(b, product)) / s;
      inner = inner + diagonalMatrix(b, b.complex(b.full(turn.sizes(), 0, turn.dtype()), turn), inner);
    }
    T result = b.matmul(u, inner);
    result = isEqual(m, k) ? result : result + scaleColumns(b, outsideOf(b, grad, u), 1.0 / s);
    return b.matmul(result, vh);
  });
  right = b.withGradient(right, a, [&](T grad) {
    T v = adjoint(b, vh), ofV = adjoint(b, grad), inner = scaleRows(b, between(b.matmul(vh, ofV)), s);
    T result = b.matmul(inner, vh);
    return b.matmul(u, isEqual(n, k) ? result : result + adjoint(b, scaleColumns(b, outsideOf(b, ofV, v), 1.0 / s)));
  });
}

/// Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973 (PyTorch's
/// pinv_backward): dA+ = -A+ dA A+ + A+ A+^H dA^H (1 - A A+) + (1 - A+ A) dA^H A+^H A+.
T withPseudoInverseGradient(B &b, T inverse, T a) {
  return b.withGradient(inverse, a, [&](T grad) {
    T turned = adjoint(b, grad), inverseTurned = adjoint(b, inverse);
    T both = b.matmul(inverse, turned), other = b.matmul(turned, inverse); // A+ g^H, g^H A+
    T result = -adjoint(b, b.matmul(both, inverse));
    T left = b.matmul(other, inverseTurned), right = b.matmul(inverseTurned, both);
    result = result + left - b.matmul(a, b.matmul(inverse, left));
    return result + right - b.matmul(b.matmul(right, inverse), a);
  });
}

} // namespace ptc::decompose
