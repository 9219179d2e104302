//===- Term.h - a tensor in a formula of prims ----------------------------===//
//
// The derivatives of prims are formulas of prims. Operands of one operation
// have one shape and element type, as prims have them: nothing broadcasts or
// promotes, but a number stands for a tensor like the other operand. What a
// formula makes and nobody reads is erased by who asked for it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Elements.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace ptc::prims {

using Dims = llvm::SmallVector<int64_t>;
using DimsRef = llvm::ArrayRef<int64_t>;

/// Where the operations of a formula go.
struct TermBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// A tensor and where operations on it go; empty where there is none.
class Term {
public:
  Term() = default;
  Term(TermBuilder &at, mlir::Value value) : at(&at), tensor(value) {}

  explicit operator bool() const { return bool(tensor); }
  mlir::Value value() const { return tensor; }
  mlir::Type element() const { return elementOf(tensor); }
  Shape shape() const { return getShape(tensor); }
  int64_t rank() const { return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getRank(); }
  bool isComplex() const { return prims::isComplex(element()); }
  mlir::MLIRContext *context() const { return at->builder.getContext(); }
  mlir::AffineExpr size(int64_t value) const { return at->builder.getAffineConstantExpr(value); }

  /// The result of the prim `Op` on operands and attributes.
  template <class Op, class... Arguments> Term make(Arguments &&...arguments) const {
    return makeAll<Op>(std::forward<Arguments>(arguments)...).front();
  }
  /// All of its results.
  template <class Op, class... Arguments> llvm::SmallVector<Term, 3> makeAll(Arguments &&...arguments) const {
    mlir::Operation *op = Op::create(at->builder, at->loc, std::forward<Arguments>(arguments)...);
    return llvm::map_to_vector<3>(op->getResults(), [&](mlir::Value result) { return Term(*at, result); });
  }
  mlir::Attribute sizes(ShapeRef sizes) const { return makeSizesAttr(sizes, context()); }

  /// Every element is `number`: of this shape and element type, or of another shape or type.
  Term full(double number) const { return full(number, shape()); }
  Term full(double number, ShapeRef sizes) const { return full(number, sizes, element()); }
  Term full(double number, ShapeRef sizes, mlir::Type element) const;
  /// The place along `dim` of each element of this shape, as i64.
  Term places(int64_t dim) const;

private:
  TermBuilder *at = nullptr;
  mlir::Value tensor;
};

// Elementwise. Comparisons give bools.
Term operator+(Term x, Term y), operator-(Term x, Term y), operator*(Term x, Term y), operator/(Term x, Term y);
Term operator+(Term x, double y), operator-(Term x, double y), operator*(Term x, double y), operator/(Term x, double y);
Term operator+(double x, Term y), operator-(double x, Term y), operator*(double x, Term y), operator/(double x, Term y);
Term operator-(Term x);
Term operator==(Term x, Term y), operator<(Term x, Term y), operator>(Term x, Term y), operator>=(Term x, Term y);
Term operator==(Term x, double y), operator>=(Term x, double y);
Term operator&(Term x, Term y), operator|(Term x, Term y);
Term exp(Term x), log(Term x), sqrt(Term x), rsqrt(Term x), reciprocal(Term x), pow(Term x, Term y);
Term sin(Term x), cos(Term x), sinh(Term x), cosh(Term x), abs(Term x), sign(Term x), trunc(Term x), isNan(Term x);
Term maximum(Term x, Term y), copySign(Term x, Term y);
Term special(llvm::StringRef function, Term x), special(llvm::StringRef function, Term x, Term y);
Term select(Term pred, Term onTrue, Term onFalse);
Term convert(Term x, mlir::Type dtype);
Term complex(Term re, Term im), real(Term x), imag(Term x);
/// Also of real numbers, which stay.
Term conj(Term x);

// Shape.
Term broadcast(Term x, ShapeRef sizes, DimsRef dims);
/// The sizes of `like`, of which x has all dimensions but `dims`: what a reduction has taken away comes back.
Term spread(Term x, DimsRef dims, Term like);
Term reshape(Term x, ShapeRef sizes);
Term transpose(Term x, DimsRef permutation);
Term reverse(Term x, DimsRef dims);
/// Zeros around and between; negative sizes crop.
Term pad(Term x, ShapeRef low, ShapeRef high, DimsRef interior, double value = 0);
Term slice(Term x, ShapeRef starts, ShapeRef limits, DimsRef strides);
/// The elements [start, limit) of one dimension.
Term slice(Term x, int64_t dim, mlir::AffineExpr start, mlir::AffineExpr limit);
Term concatenate(llvm::ArrayRef<Term> inputs, int64_t dim);

// Reductions, scans, indexing, products.
Term reduce(llvm::StringRef kind, Term x, DimsRef dims);
inline Term sum(Term x, DimsRef dims) { return reduce("sum", x, dims); }
Term scan(llvm::StringRef kind, Term x, int64_t dim);
Term gather(Term x, llvm::ArrayRef<Term> indices, DimsRef dims);
Term scatter(Term x, Term updates, llvm::ArrayRef<Term> indices, DimsRef dims, llvm::StringRef combine);
Term contract(Term lhs, Term rhs, DimsRef lhsBatch, DimsRef rhsBatch, DimsRef lhsContract, DimsRef rhsContract);

/// 0, 1, ..., rank - 1.
Dims allDims(int64_t rank);
/// Those that are not in `dims`.
Dims otherDims(int64_t rank, DimsRef dims);
/// The permutation that undoes another one.
Dims inverse(DimsRef permutation);

} // namespace ptc::prims
