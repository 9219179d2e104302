//===- Matrix.cpp - derivatives of algorithms on matrices -----------------===//
//
// Of complex matrices the algorithms are "complex_…" and take pairs of real
// numbers along a last dimension. Their cotangents are such pairs as well.
//
//===----------------------------------------------------------------------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/Cotangents.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

namespace {
class MatrixRule {
public:
  MatrixRule(MatrixOp op, Cotangents &c)
      : op(op), c(c), name(op.getAlgorithm()), isOfPairs(name.consume_front("complex_")) {}

  Error apply();

private:
  Term run(StringRef algorithm, ArrayRef<Term> inputs) const;
  /// The dimension of a matrix's rows.
  int64_t rowsOf(Term x) const { return x.rank() - (isOfPairs ? 3 : 2); }
  /// Pairs as complex numbers, and back.
  Term toNumbers(Term x) const;
  Term toPairs(Term x) const;
  Term adjoint(Term x) const;
  void ofSolution(StringRef opposite, bool isUpper, bool isUnit);
  void ofExponential();

  MatrixOp op;
  Cotangents &c;
  StringRef name;
  bool isOfPairs;
};
} // namespace

Term MatrixRule::run(StringRef algorithm, ArrayRef<Term> inputs) const {
  std::string whole = ((isOfPairs ? "complex_" : "") + algorithm).str();
  SmallVector<Value> values = llvm::map_to_vector(inputs, [](const Term &input) { return input.value(); });
  return inputs.front().make<MatrixOp>(values, whole, /*smaller=*/Attribute());
}

Term MatrixRule::toNumbers(Term x) const {
  if (!isOfPairs)
    return x;
  int64_t last = x.rank() - 1;
  Shape sizes = x.shape();
  sizes.pop_back();
  auto part = [&](int64_t i) { return reshape(slice(x, last, x.size(i), x.size(i + 1)), sizes); };
  return complex(part(0), part(1));
}

Term MatrixRule::toPairs(Term x) const {
  if (!isOfPairs)
    return x;
  Shape sizes = x.shape();
  sizes.push_back(x.size(1));
  return concatenate({reshape(real(x), sizes), reshape(imag(x), sizes)}, x.rank());
}

/// The conjugate transpose of each matrix.
Term MatrixRule::adjoint(Term x) const {
  Term numbers = toNumbers(x);
  Dims order = allDims(numbers.rank());
  std::swap(order[order.size() - 2], order[order.size() - 1]);
  return toPairs(transpose(conj(numbers), order));
}

/// Of x with a x = b, a triangular: a^H db = dx, and da = -db x^H in a's triangle.
void MatrixRule::ofSolution(StringRef opposite, bool isUpper, bool isUnit) {
  Term a = c.operand(0), ofB = run(opposite, {adjoint(a), c.grad()});
  Term left = toNumbers(ofB), right = toNumbers(c.result());
  int64_t column = left.rank() - 1, row = column - 1;
  Dims batch = allDims(row);
  Term ofA = -contract(left, conj(right), batch, batch, column, column);
  Term i = ofA.places(isUpper ? column : row), j = ofA.places(isUpper ? row : column);
  c.add(0, toPairs(select(isUnit ? i > j : i >= j, ofA, ofA.full(0))));
  c.add(1, ofB);
}

/// The upper right quarter of the exponential of [[a^H, g], [0, a^H]] (Mathias, 1996), as in PyTorch.
void MatrixRule::ofExponential() {
  Term a = adjoint(c.operand()), g = c.grad();
  int64_t row = rowsOf(a), column = row + 1;
  AffineExpr n = a.shape()[row];
  Term upper = concatenate({a, g}, column), lower = concatenate({g.full(0), a}, column);
  Term whole = run("exp", concatenate({upper, lower}, row));
  c.add(0, slice(slice(whole, row, a.size(0), n), column, n, n * 2));
}

Error MatrixRule::apply() {
  if (name == "solve_lower" || name == "solve_upper" || name == "solve_unit_lower" || name == "solve_unit_upper") {
    bool isUpper = name.ends_with("upper"), isUnit = name.contains("unit");
    std::string opposite = (llvm::Twine(isUnit ? "solve_unit_" : "solve_") + (isUpper ? "lower" : "upper")).str();
    ofSolution(opposite, isUpper, isUnit);
  } else if (name == "swap_rows" || name == "swap_rows_back")
    c.add(1, run(name == "swap_rows" ? "swap_rows_back" : "swap_rows", {c.operand(0), c.grad()}));
  else if (name == "exp")
    ofExponential();
  else if (name == "fourier" || name == "fourier_inverse")
    c.add(0, run(name == "fourier" ? "fourier_inverse" : "fourier", c.grad()));
  else if (name != "lexical_order" && name != "suppress_overlaps")
    return c.refuse("of " + name);
  return Error::success();
}

Error MatrixOp::differentiate(Cotangents &c) { return MatrixRule(*this, c).apply(); }

} // namespace ptc::prims
