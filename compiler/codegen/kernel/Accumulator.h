//===- Accumulator.h - how reductions and scans combine values ------------===//
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

/// The running value of one combination; for argmax and argmin with its place
/// (i64). Scalars or vectors.
struct Running {
  llvm::Value *value = nullptr;
  llvm::Value *place = nullptr;
};

class Combiner {
public:
  /// `kind` as in loop.reduce; `scalar` is the type that values have.
  Combiner(llvm::StringRef kind, llvm::Type *scalar);

  bool hasPlace() const { return kind == ArgMax || kind == ArgMin || kind == ArgMaxLastNan; }
  bool isSum() const { return kind == Sum && type->isFloatingPointTy(); }

  /// What changes nothing, in `width` lanes. Its place is 0, the answer where all values are as extreme as it.
  Running identity(Ir &b, unsigned width) const;
  Running combine(Ir &b, Running x, Running y) const;
  /// For running extremes: of equals y, as of zeros of two signs.
  Running combineLater(Ir &b, Running x, Running y) const;
  /// All lanes as one, pairwise.
  Running acrossLanes(Ir &b, Running x) const;
  /// x in lanes where the condition holds, y in the others.
  static Running select(Ir &b, llvm::Value *condition, Running x, Running y);

private:
  bool isMaximum() const { return kind == Max || kind == ArgMax || kind == ArgMaxLastNan; }
  llvm::Value *moreExtreme(Ir &b, Running x, Running y, bool orLater) const;

  enum Kind { Sum, Prod, Max, Min, And, Or, LogAddExp, ArgMax, ArgMin, ArgMaxLastNan } kind;
  llvm::Type *type;
};

} // namespace ptc::kernel
