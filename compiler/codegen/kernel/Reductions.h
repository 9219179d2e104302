//===- Reductions.h - the running values of a stage ------------------------===//
#pragma once

#include "compiler/codegen/kernel/Accumulator.h"
#include "compiler/codegen/kernel/BodyEmitter.h"
#include "compiler/codegen/kernel/Loops.h"
#include "compiler/codegen/kernel/Stages.h"

namespace ptc::kernel {

/// One value that a reduction or a scan combines.
struct Reduced {
  mlir::Operation *member;
  Combiner combiner;
  llvm::Type *type;       ///< of the yielded value; halves are combined as float
  mlir::AffineExpr place; ///< row-major in what is reduced over, by the domain's dimensions

  /// A yielded value as it is combined, with its place if that is wanted.
  Running runningOf(const LaneBuilder &lanes, const Lanes &value, llvm::ArrayRef<Lanes> dims,
                    llvm::ArrayRef<llvm::Value *> symbols) const;
  /// What all values have combined to, as the reduction's `finish` takes it.
  llvm::Value *finished(Ir &b, const Running &running) const;
};

/// Those of all members of a stage, in order. Loops carry them as one list.
class Reductions {
public:
  Reductions() = default;
  Reductions(Ir &b, const Stage &stage);

  llvm::ArrayRef<Reduced> all() const { return reduced; }
  Carried identities(Ir &b, unsigned width) const;
  Carried combine(Ir &b, llvm::ArrayRef<llvm::Value *> x, llvm::ArrayRef<llvm::Value *> y) const;
  llvm::SmallVector<Running> unpack(llvm::ArrayRef<llvm::Value *> carried) const;
  static Carried pack(llvm::ArrayRef<Running> running);

private:
  llvm::SmallVector<Reduced, 2> reduced;
};

} // namespace ptc::kernel
