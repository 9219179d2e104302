//===- Bodies.h - copying and tidying scalar bodies -----------------------===//
#pragma once

#include "dialects/loop/IndexSimplify.h"
#include "dialects/loop/LoopBuilder.h"

namespace ptc::loop {

/// Copies the block's operations to the builder's place and answers what it yields. With `guard`, memory is touched
/// only where it holds (what is yielded elsewhere is of no matter).
llvm::SmallVector<mlir::Value> cloneBody(Builder &b, mlir::Block &block, mlir::ValueRange arguments,
                                         mlir::Value guard = {});

/// Brings a body into its one form: reads have the block's indices as first operands, all of them, and a simplified
/// map; conditions that sizes decide are gone, as is what is computed twice or never used.
void tidyBody(mlir::Region &region, ShapeRef domain, llvm::ArrayRef<Symbol> symbols);
/// All bodies of a member.
void tidyMember(mlir::Operation *member, llvm::ArrayRef<Symbol> symbols);

/// After tidying: the number of index arguments of the block.
unsigned countIndices(mlir::Block &block);

/// Whether the read's place along a dimension of its tensor is the block's index of that number. Along a dimension of
/// size 1 there is one place, which maps call 0.
bool isAtOwnIndex(ReadOp read, unsigned dimension);

/// Whether the read is of the element at the block's first `rank` indices.
bool isIdentityRead(ReadOp read, unsigned rank);

} // namespace ptc::loop
