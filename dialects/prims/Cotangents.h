//===- Cotangents.h - what a prim sees when it is differentiated ----------===//
//
// Reverse mode: a rule is given the cotangents of an operation's results, the
// derivatives of some number by them, and adds to those of its operands. A
// cotangent has the type of its value. Of complex numbers z it is PyTorch's,
// dL/dRe(z) + i dL/dIm(z), so rules conjugate derivatives.
//
// A rule adds to every operand that a derivative flows to; what is added to one
// that nobody asked for is erased. Rules read results where PyTorch's do.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/Term.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace ptc::prims {

class Cotangents {
public:
  /// `grads`: of the results, null where none arrives. `isActive`: whether a value's derivative is asked for.
  Cotangents(mlir::OpBuilder &builder, mlir::Operation *op, llvm::ArrayRef<mlir::Value> grads,
             llvm::function_ref<bool(mlir::Value)> isActive)
      : at{builder, op->getLoc()}, op(op), grads(grads), isActive(isActive), sums(op->getNumOperands()) {}
  Cotangents(const Cotangents &) = delete;

  Term operand(unsigned i = 0) { return Term(at, op->getOperand(i)); }
  Term result(unsigned i = 0) { return Term(at, op->getResult(i)); }
  /// The cotangent of a result. It is there where the operation has one result; else it may be empty.
  Term grad(unsigned i = 0) { return grads[i] ? Term(at, grads[i]) : Term(); }
  /// The same, zeros where none arrives.
  Term gradOrZero(unsigned i) { return grads[i] ? grad(i) : result(i).full(0); }
  /// Whether a derivative by operand i is asked for: what cannot be given is to be refused only then.
  bool wants(unsigned i) const { return isActive(op->getOperand(i)); }

  void add(unsigned i, Term cotangent) { sums[i] = sums[i] ? sums[i] + cotangent : cotangent; }
  /// Adds what a function of operand i with this derivative, element by element, leads to.
  llvm::Error chain(Term derivative, unsigned i = 0) {
    add(i, grad() * conj(derivative));
    return llvm::Error::success();
  }
  /// What a region yields for the cotangents of the results, with its operations in the formula.
  llvm::SmallVector<Term> inlined(mlir::Region &region);
  /// The operation has no derivative; `what` says of what, or why.
  llvm::Error refuse(const llvm::Twine &what = "") const;

  /// What was added to operand i; empty: nothing.
  Term of(unsigned i) const { return sums[i]; }

private:
  TermBuilder at;
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> grads;
  llvm::function_ref<bool(mlir::Value)> isActive;
  llvm::SmallVector<Term> sums;
};

} // namespace ptc::prims
