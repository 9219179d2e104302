//===- LoopBuilder.h - small words for building loop operations -----------===//
#pragma once

#include "dialects/loop/Loop.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace ptc::loop {

using Builder = mlir::ImplicitLocOpBuilder;

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type elementType(mlir::Value value) { return tensorType(value).getElementType(); }

/// The affine map of `dims` dimensions with as many symbols as it uses.
mlir::AffineMap makeIndexMap(unsigned dims, ShapeRef exprs, mlir::MLIRContext *context);
/// d0, d1, ...
Shape makeDims(unsigned count, mlir::MLIRContext *context, unsigned first = 0);

/// The element of `tensor` at exprs(ids), or at ids.
mlir::Value read(Builder &b, mlir::Value tensor, ShapeRef exprs, mlir::ValueRange ids);
mlir::Value read(Builder &b, mlir::Value tensor, mlir::ValueRange ids);
/// The same where `where` holds, else `otherwise`.
mlir::Value readWhere(Builder &b, mlir::Value tensor, ShapeRef exprs, mlir::ValueRange ids, mlir::Value where,
                      mlir::Value otherwise);

mlir::Value index(Builder &b, mlir::AffineExpr expr, mlir::ValueRange ids);
/// expr(ids) < bound, or >= bound, or == bound.
mlir::Value compare(Builder &b, mlir::arith::CmpIPredicate predicate, mlir::AffineExpr expr, mlir::AffineExpr bound,
                    mlir::ValueRange ids);
/// Null stands for true.
mlir::Value logicalAnd(Builder &b, mlir::Value x, mlir::Value y);

/// A number of a scalar type (as getScalarType answers).
mlir::Value constant(Builder &b, mlir::Type type, double value);
mlir::Value constantInt(Builder &b, mlir::Type type, int64_t value);
/// What `max` and the like order: a number as it is; of an unsigned one, which scalars do not tell from signed ones,
/// bits that are ordered alike as a signed number. Applied once more, the number again.
mlir::Value orderedBits(Builder &b, llvm::StringRef kind, mlir::Type element, mlir::Value value);
/// What a reduction starts from.
mlir::Value neutral(Builder &b, llvm::StringRef kind, mlir::Type type, bool isUnsigned);

/// bf16 and f16 as f32, other scalars as they are; and back.
mlir::Type getWideType(mlir::Type type);
mlir::Value widen(Builder &b, mlir::Value value);
mlir::Value narrow(Builder &b, mlir::Value value, mlir::Type to);

using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
using ScalarBody = llvm::function_ref<mlir::Value(mlir::ValueRange)>;

/// Fills `region` with a block of `rank` indices, then values of the types, whose terminator yields what `body`
/// answers.
void buildRegion(Builder &b, mlir::Region &region, unsigned rank, mlir::TypeRange values, Body body);

/// A kernel whose block has an argument for each input; the builder goes on in it.
KernelOp createKernel(Builder &b, llvm::StringRef name, unsigned outer, mlir::TypeRange results,
                      mlir::ValueRange inputs);
mlir::Value createMap(Builder &b, mlir::RankedTensorType type, ScalarBody body);
/// `finish` gets the combined value as the last argument; without one a narrow float type is narrowed.
mlir::Value createReduce(Builder &b, mlir::RankedTensorType type, llvm::StringRef kind, ShapeRef sizes,
                         ScalarBody body, ScalarBody finish = {});

} // namespace ptc::loop
