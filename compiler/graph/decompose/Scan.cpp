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

/// x[1:] - x[:-1], n times.
static T difference(B &b, T x, int64_t n, int64_t dim) {
  for (int64_t i = 0; i < n; ++i) {
    AffineExpr size = x.size(b.dim(x, dim));
    if (getConstant(size) == 0)
      return x;
    T after = b.slice(x, dim, b.size(1), size), before = b.slice(x, dim, b.size(0), size - 1);
    x = isBool(x.dtype()) ? after ^ before : after - before;
  }
  return x;
}

void addScan(Table &t) {
  t.def("cumsum", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "sum", x, dim); });
  t.def("cumprod", [](B &b, T x, int64_t dim, Dtype) { return scanned(b, "prod", x, dim); });
  t.def("cummax", [](B &b, T x, int64_t dim) { return running(b, "max", x, dim); });
  t.def("cummin", [](B &b, T x, int64_t dim) { return running(b, "min", x, dim); });
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
  t.floating("trapezoid.dx", [](B &b, T y, T dx, int64_t dim) {
    AffineExpr n = y.size(b.dim(y, dim));
    return b.sum(b.slice(y, dim, b.size(1), n) + b.slice(y, dim, b.size(0), n - 1), {dim}) * dx / 2.0;
  });
}

} // namespace ptc::decompose
