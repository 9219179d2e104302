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

/// log(exp(x) + exp(y)) without overflow; of two equal infinities, that infinity.
static T addExponents(B &b, T x, T y) {
  T high = b.maximum(x, y), low = b.minimum(x, y);
  return b.where((x == y) & ~b.isFinite(x), x, high + b.log1p(b.exp(low - high)));
}

/// No running maximum serves all elements, so sums of 2, 4, 8, ... elements meet: exact in log2(n) steps.
static T runningLogSum(B &b, T x, int64_t dim) {
  if (!x.rank())
    return x;
  dim = b.dim(x, dim);
  int64_t most = b.range(x.size(dim)).max;
  for (int64_t reach = 1; reach < most; reach *= 2) {
    T earlier = b.padDim(x, dim, b.size(reach), b.size(-reach), lowerLimit(x.dtype()));
    x = addExponents(b, x, earlier);
  }
  return x;
}

void addScan(Table &t) {
  t.def("cumsum", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "sum", x, dim); });
  t.def("cumprod", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "prod", x, dim); });
  t.def("cummax", [](B &b, T x, int64_t dim) { return running(b, "max", x, dim); });
  t.def("cummin", [](B &b, T x, int64_t dim) { return running(b, "min", x, dim); });
  t.opmath("logcumsumexp _logcumsumexp", [](B &b, T x, int64_t dim) { return runningLogSum(b, x, dim); });
}

} // namespace ptc::decompose
