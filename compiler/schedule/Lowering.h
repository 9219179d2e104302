//===- Lowering.h - what the families of ToLoop share ---------------------===//
#pragma once

#include "compiler/schedule/Limits.h"
#include "dialects/loop/LoopBuilder.h"

#include <functional>

namespace ptc::prims {
class AttentionOp;
class AttentionGradientOp;
} // namespace ptc::prims

namespace ptc::schedule {

struct Lowering {
  loop::Builder &b;
  const Limits &limits;
  /// A tensor that the artifact holds as a weight, given element by element.
  std::function<mlir::Value(mlir::ElementsAttr)> embed;
};

/// The values of the prim's results. Null when the prim is not of the family;
/// empty when it cannot be compiled, which has been reported at the prim.
using Lowered = std::optional<llvm::SmallVector<mlir::Value>>;

Lowered lowerElementwise(Lowering &lowering, mlir::Operation *op); // ToLoop.cpp
Lowered lowerStructure(Lowering &lowering, mlir::Operation *op);
Lowered lowerReduction(Lowering &lowering, mlir::Operation *op);
Lowered lowerTemplate(Lowering &lowering, mlir::Operation *op);

/// The index map of a row-major reshape from the result's dimensions to the operand's places.
Shape reshapePlaces(ShapeRef operand, ShapeRef result, mlir::MLIRContext *context);

/// What products of the operand's elements are summed in.
mlir::Type accumulatorOf(loop::Builder &b, mlir::Value operand);
/// The epilogue that only narrows the accumulated value.
void buildEpilogue(loop::Builder &b, mlir::Operation *op);

llvm::SmallVector<mlir::Value> lowerAttention(loop::Builder &b, prims::AttentionOp op); // ToLoopAttention.cpp
llvm::SmallVector<mlir::Value> lowerAttentionGradient(loop::Builder &b, prims::AttentionGradientOp op);
mlir::Value lowerRandomBits(loop::Builder &b, mlir::Value seed, int64_t stream, mlir::RankedTensorType type);

} // namespace ptc::schedule
