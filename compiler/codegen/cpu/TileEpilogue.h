//===- TileEpilogue.h - from accumulators to results ----------------------===//
#pragma once

#include "compiler/codegen/cpu/Accesses.h"
#include "compiler/codegen/cpu/KernelFrame.h"
#include "compiler/codegen/cpu/MicroTile.h"
#include "dialects/core/SymbolicShape.h"

namespace mlir {
class Operation;
}

namespace ptc::cpu {

/// Runs a template's epilogue region on accumulators and stores what it yields.
/// The result domain is seen as outer dimensions and a row: the innermost
/// `rowRank` dimensions, flattened, along which the lanes of a vector lie.
class TileEpilogue {
public:
  TileEpilogue(KernelFrame &frame, mlir::Operation *op, unsigned rowRank, unsigned width);

  /// The indices of a row-major place in `count` dimensions of the domain from `first` on. Dimensions that all accesses
  /// walk as one are not told apart, which would take divisions: the innermost gets the place, the others 0.
  llvm::SmallVector<llvm::Value *> indicesOf(llvm::Value *place, unsigned first, unsigned count);

  /// Stores `acc` for the elements `column`, `column` + 1, ... of the row at
  /// `outer`. Lanes whose `mask` (null: none) is unset are left alone.
  void store(llvm::ArrayRef<llvm::Value *> outer, llvm::Value *column, llvm::Value *acc, llvm::Value *mask);

  /// Stores a tile: row i lies at outer(i); `masks` (empty: none) has one mask a
  /// vector. A long epilogue is emitted once, in a loop over the rows.
  void storeTile(const TileType &tile, Accumulators &acc, llvm::Value *column, llvm::ArrayRef<llvm::Value *> masks,
                 llvm::function_ref<llvm::SmallVector<llvm::Value *>(llvm::Value *)> outer);

private:
  /// Loops over neighbouring dimensions of the domain: which of them get an index, and the sizes of what they stand for.
  struct Merged {
    llvm::SmallVector<unsigned> dims;
    Shape sizes;
  };
  Merged merge(unsigned first, unsigned count) const;

  KernelFrame &frame;
  mlir::Operation *op;
  Shape domain;
  unsigned width;
  BodyAccesses accesses;
  Merged row;
};

/// The indices of a row-major place in a box of these sizes.
llvm::SmallVector<llvm::Value *> delinearize(KernelFrame &frame, llvm::Value *place, ShapeRef sizes);

/// The value of a size in this call.
llvm::Value *emitSize(KernelFrame &frame, mlir::AffineExpr size);

} // namespace ptc::cpu
