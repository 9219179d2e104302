//===- Contraction.cpp - matrix products ----------------------------------===//

#include "compiler/graph/decompose/Einsum.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>

namespace ptc::decompose {

using mlir::AffineExpr;

static bool isNumber(T x, double value) {
  return x.isNumber() && !x.symbolic() && x.real() == value && x.imaginary() == 0;
}

/// beta * addend + alpha * product. With beta 0 the addend is not even read, so
/// that its NaN does not count.
static T addScaled(B &b, T addend, T product, T beta, T alpha) {
  // Integers are scaled by integers.
  if (isIntegral(product.dtype())) {
    beta = T(int64_t(beta.real()));
    alpha = T(int64_t(alpha.real()));
  }
  product = isNumber(alpha, 1) ? product : product * alpha;
  if (isNumber(beta, 0))
    return product;
  addend = b.toOpmath(addend); // rounded once, with the product
  return (isNumber(beta, 1) ? addend : addend * beta) + product;
}

/// x w^T (+ bias): weights lie with a row an output feature.
static T linear(B &b, T x, T w, OptT bias) {
  T y = w.rank() == 1 ? b.contract(x, w, {}, {}, {-1}, {0}) : b.contract(x, w, {}, {}, {-1}, {1});
  return bias ? y + *bias : y;
}

static T outer(B &b, T x, T y) { return b.unsqueeze(x, 1) * b.unsqueeze(y, 0); }

static void addProducts(Table &t) {
  t.def("mm bmm mv dot matmul linalg_matmul", [](B &b, T x, T y) { return b.matmul(x, y); });
  t.def("vdot", [](B &b, T x, T y) { return b.matmul(b.conj(x), y); });
  t.def("linear", [](B &b, T x, T w, OptT bias) { return linear(b, x, w, bias); });
  t.def("addmm addmv baddbmm", [](B &b, T addend, T x, T y, T beta, T alpha) {
    return b.expand(addScaled(b, addend, b.matmul(x, y), beta, alpha), b.declared());
  });
  t.opmath("_addmm_activation", [](B &b, T addend, T x, T y, T beta, T alpha, bool isGelu) {
    T sum = b.expand(addScaled(b, addend, b.matmul(x, y), beta, alpha), b.declared());
    return isGelu ? sum * 0.5 * (b.erf(sum * std::sqrt(0.5)) + 1) : b.maximum(sum, 0);
  });
  t.def("addbmm", [](B &b, T addend, T x, T y, T beta, T alpha) {
    return addScaled(b, addend, b.contract(x, y, {}, {}, {0, 2}, {0, 1}), beta, alpha);
  });
  t.opmath("addr", [](B &b, T addend, T x, T y, T beta, T alpha) {
    return addScaled(b, addend, outer(b, x, y), beta, alpha);
  });
  t.def("outer ger", [](B &b, T x, T y) { return outer(b, x, y); });
  t.def("inner", [](B &b, T x, T y) {
    return x.rank() && y.rank() ? b.contract(x, y, {}, {}, {-1}, {-1}) : x * y;
  });
  t.def("linalg_vecdot", [](B &b, T x, T y, int64_t dim) { // products of vectors are not rounded, as in PyTorch
    return x.rank() == 1 && y.rank() == 1 ? b.matmul(b.conj(x), y) : b.sum(b.conj(x) * y, {dim});
  });
  t.def("kron", [](B &b, T x, T y) {
    while (x.rank() < y.rank())
      x = b.unsqueeze(x, 0);
    while (y.rank() < x.rank())
      y = b.unsqueeze(y, 0);
    int64_t rank = x.rank();
    for (int64_t d = 0; d < rank; ++d) {
      x = b.unsqueeze(x, 2 * d + 1);
      y = b.unsqueeze(y, 2 * d);
    }
    return b.reshape(x * y, b.declared());
  });
  t.def("linalg_multi_dot chain_matmul", [](B &b, TList matrices) {
    T product = matrices.front();
    for (const T &matrix : llvm::drop_begin(matrices))
      product = b.to(b.matmul(product, matrix), matrix.dtype());
    return product;
  });
}

static void addGeneral(Table &t) {
  t.def("tensordot", [](B &b, T x, T y, Dims xDims, Dims yDims) {
    // A dimension of size 1 meets the sum over the other's.
    for (auto [i, j] : llvm::zip(xDims, yDims)) {
      bool one = b.isOne(x.size(i)), other = b.isOne(y.size(j));
      x = other && !one ? b.sum(x, {i}, true) : x;
      y = one && !other ? b.sum(y, {j}, true) : y;
    }
    return b.contract(x, y, {}, {}, xDims, yDims);
  });
  t.opmath("_trilinear", [](B &b, T x, T y, T z, Dims xOnes, Dims yOnes, Dims zOnes, Dims summed, Any) {
    auto expanded = [&](T value, Dims ones) {
      llvm::sort(ones);
      for (int64_t dim : ones)
        value = b.unsqueeze(value, dim);
      return value;
    };
    // What z does not see is summed first, and rounded, as in PyTorch.
    Dims unseen;
    for (int64_t dim : summed)
      if (llvm::is_contained(zOnes, dim))
        unseen.push_back(dim);
    T product = expanded(x, xOnes) * expanded(y, yOnes);
    product = b.step(unseen.empty() ? product : b.sum(product, unseen, true));
    return b.sum(product * expanded(z, zOnes), summed);
  });
  t.def("bilinear", [](B &b, T x, T y, T w, OptT bias) {
    // [..., i] x [o, i, j] -> [..., o, j], then with y over j; PyTorch rounds what each of the two products gives.
    T rows = b.step(b.contract(x, w, {}, {}, {-1}, {1}));
    T product = b.step(b.sum(rows * b.unsqueeze(y, -2), {-1}));
    return bias ? product + *bias : product;
  });
  t.def("einsum", [](B &b, Str equation, TList operands, Any) { return einsum(b, equation, operands); });
}

void addContraction(Table &t) {
  addProducts(t);
  addGeneral(t);
}

} // namespace ptc::decompose
