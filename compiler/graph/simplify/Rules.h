//===- Rules.h - the tables of Simplify, and what their rules share -------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/IR/PatternMatch.h"

namespace ptc::simplify {

void addArithmetic(mlir::RewritePatternSet &rules);
void addStructure(mlir::RewritePatternSet &rules);
void addIndexing(mlir::RewritePatternSet &rules);
void addContraction(mlir::RewritePatternSet &rules);
void addSinkReshape(mlir::RewritePatternSet &rules);
void addSinkBroadcast(mlir::RewritePatternSet &rules);

/// Whether the shapes are equal for every value of the symbols.
bool haveSameShape(ShapeRef a, ShapeRef b);

/// Replaces an operation by a value of the same meaning. Refused when the types
/// spell a symbolic size differently and the function returns the value.
llvm::LogicalResult replace(mlir::PatternRewriter &b, mlir::Operation *op, mlir::Value value);

/// The value of a `full`; null for anything else.
mlir::Attribute getFullValue(mlir::Value value);
/// Whether `value` is a real number `full` of this.
bool isFullOf(mlir::Value value, double number);
mlir::Value makeFull(mlir::PatternRewriter &b, mlir::Location loc, mlir::Attribute value, ShapeRef shape);

/// The elementwise operation on operands of another shape.
mlir::Value rebuildElementwise(mlir::PatternRewriter &b, mlir::Operation *op, mlir::ValueRange operands,
                               ShapeRef shape);

} // namespace ptc::simplify
