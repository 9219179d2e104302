//===- Scan.cpp - running sums and extremes -------------------------------===//

#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

static T scanned(B &b, llvm::StringRef kind, T x, int64_t dim) {
  return b.scan(kind, b.toOpmath(b.to(x, b.declaredType())), dim);
}

static TList running(B &b, llvm::StringRef kind, T x, int64_t dim) {
  T ordered = isBool(x.dtype()) ? b.to(x, b.i32()) : x;
  return {b.scan(kind, ordered, dim), b.argScan(kind, ordered, dim)};
}

/// One after the other: which branch of the logarithm a sum is on depends on the order. The weight of x_i in the sum
/// y_j is e^(x_i - y_j); sums of the derivatives are taken as logarithms too (PyTorch's logcumsumexp_backward).
static T logSumsComplex(B &b, T x, int64_t dim) {
  if (!x.rank())
    return x;
  auto sums = [&](T v) { return b.moveDim(b.matrix("logcumsumexp", {b.moveDim(v, dim, -1)})[0], -1, dim); };
  T y = sums(x);
  return b.withGradient(y, x, [&](T grad) {
    T behind = b.reverse(sums(b.reverse(b.log(b.conj(grad)) - y, {dim})), {dim});
    return b.conj(b.exp(behind + x));
  });
}

void addScan(Table &t) {
  t.def("cumsum", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "sum", x, dim); });
  t.def("cumprod", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "prod", x, dim); });
  t.def("cummax", [](B &b, T x, int64_t dim) { return running(b, "max", x, dim); });
  t.def("cummin", [](B &b, T x, int64_t dim) { return running(b, "min", x, dim); });
  t.opmath("logcumsumexp _logcumsumexp", [](B &b, T x, int64_t dim) {
    return isComplex(x.dtype()) ? logSumsComplex(b, x, dim) : b.scan("logaddexp", x, dim);
  });
}

} // namespace ptc::decompose
