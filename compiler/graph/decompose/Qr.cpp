//===- Qr.cpp - QR, and products of Householder reflections ---------------===//

#include "compiler/graph/decompose/Matrix.h"
#include "compiler/graph/decompose/MatrixGradient.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// Householder vectors [m, k] with columns of zeros behind them, for a product with all its columns.
static T square(B &b, T vectors, T tau) {
  AffineExpr m = vectors.size(-2), k = tau.size(-1);
  return b.padDim(b.slice(vectors, -1, b.size(0), k), -1, b.size(0), m - k, 0);
}

/// Q with all its columns.
static T fullQ(B &b, T vectors, T tau) { return b.matrix("householder", {square(b, vectors, tau), tau})[0]; }

/// The first columns of a product of reflections 1 - tau v v^H. In training as 1 - V (1 + D S)^-1 D V^H, which has a
/// derivative: D is the diagonal matrix of tau, S the strict upper triangle of V^H V (Schreiber and Van Loan, "A
/// storage-efficient WY representation for products of Householder transformations", 1989).
static T productOfReflections(B &b, T vectors, T tau) {
  if (!b.isTraining())
    return b.matrix("householder", {vectors, tau})[0];
  Shape matrix(ShapeRef(vectors.sizes()).take_back(2));
  T one = b.to(b.iota(matrix, 0, b.i64()) == b.iota(matrix, 1, b.i64()), vectors.dtype());
  auto part = [&](T x, int64_t dim, AffineExpr size) { return b.slice(x, dim, b.size(0), size); };
  T v = part(triangle(b, vectors, true, -1) + one, -1, tau.size(-1)), turned = adjoint(b, v);
  T products = triangle(b, b.matmul(turned, v), false, 1), scale = b.unsqueeze(tau, -1);
  T first = solveTriangular(b, scale * products, scale * part(turned, -1, vectors.size(-1)), true, true, true);
  return one - b.matmul(v, first);
}

T completeBasis(B &b, T columns) {
  AffineExpr m = columns.size(-2), k = columns.size(-1);
  if (isEqual(m, k))
    return columns;
  TList factored = b.matrix("qr", {columns});
  T all = fullQ(b, factored[0], factored[1]);
  return b.cat({columns, b.stopGradient(b.slice(all, -1, k, m))}, -1);
}

static TList factorQr(B &b, T a, Str mode) {
  TList factored = b.matrix("qr", {a});
  T r = triangle(b, factored[0], false), tau = factored[1];
  AffineExpr k = tau.size(-1);
  bool isComplete = mode == "complete";
  T reduced = isComplete ? r : b.slice(r, -2, b.size(0), k);
  if (mode == "r") // without Q there is no derivative
    return {b.full(b.size(0), 0, a.dtype()), reduced};
  T q = isComplete ? fullQ(b, factored[0], tau)
                   : b.matrix("householder", {b.slice(factored[0], -1, b.size(0), k), tau})[0];
  if (!isComplete || isEqual(a.size(-2), k)) // nor by way of columns of Q that R knows nothing of
    addQrGradient(b, q, reduced, a);
  return {q, reduced};
}

void addQr(Table &t) {
  t.def("linalg_qr", [](B &b, T a, Str mode) { return factorQr(b, a, mode); });
  t.def("qr", [](B &b, T a, bool some) { return factorQr(b, a, some ? "reduced" : "complete"); });
  t.def("geqrf", [](B &b, T a) { return b.matrix("qr", {a}); });
  t.def("linalg_householder_product orgqr",
        [](B &b, T vectors, T tau) { return productOfReflections(b, vectors, tau); });
  t.def("ormqr", [](B &b, T vectors, T tau, T x, bool left, bool transpose) {
    T q = productOfReflections(b, square(b, vectors, tau), tau);
    q = transpose ? adjoint(b, q) : q;
    return left ? b.matmul(q, x) : b.matmul(x, q);
  });
}

} // namespace ptc::decompose
