//===- SymbolicShape.h - tensor sizes as expressions over symbols ---------===//
//
// Every size in ptc is an mlir::AffineExpr without dimensions: a constant, or
// an expression over the module's symbols (`ptc.symbols`; entry i is symbol
// s_i). A tensor type with a dynamic size carries all its sizes as an affine
// map in its encoding, so that equal shapes are equal types:
//
//   tensor<?x8xf32, affine_map<()[s0] -> (s0 * 2, 8)>>
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
class Operation;
} // namespace mlir

namespace ptc {

using Shape = llvm::SmallVector<mlir::AffineExpr, 4>;
using ShapeRef = llvm::ArrayRef<mlir::AffineExpr>;

/// The sizes of a ranked tensor type, outermost first.
Shape getShape(mlir::Type type);
inline Shape getShape(mlir::Value value) { return getShape(value.getType()); }
inline mlir::Type elementOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}

/// The tensor type with these sizes; canonical, so equal sizes give one type.
mlir::RankedTensorType makeTensorType(ShapeRef sizes, mlir::Type element);

/// Static sizes as a shape.
Shape makeShape(llvm::ArrayRef<int64_t> sizes, mlir::MLIRContext *context);

/// The affine map `()[s...] -> (exprs)` with as few symbols as the
/// expressions use: the one form in which expressions are kept as attributes.
mlir::AffineMap makeSymbolMap(ShapeRef exprs, mlir::MLIRContext *context);

/// An integer attribute: IntegerAttr when constant, else an AffineMapAttr with
/// one result. And back; null for any other attribute.
mlir::Attribute makeSizeAttr(mlir::AffineExpr expr);
mlir::AffineExpr getSizeFromAttr(mlir::Attribute attr);

/// A list of integers: DenseI64ArrayAttr when all are constant, else an
/// AffineMapAttr. And back; nullopt for any other attribute.
mlir::Attribute makeSizesAttr(ShapeRef exprs, mlir::MLIRContext *context);
std::optional<Shape> getSizesFromAttr(mlir::Attribute attr);

/// The constant value of an expression, if it is one.
std::optional<int64_t> getConstant(mlir::AffineExpr expr);

/// Product of sizes; 1 for an empty list (hence the context).
mlir::AffineExpr product(ShapeRef sizes, mlir::MLIRContext *context);

/// Whether both expressions are equal for every value of the symbols, as far
/// as simplification can tell.
bool isEqual(mlir::AffineExpr a, mlir::AffineExpr b);

/// The larger or the smaller of two expressions over symbols before the one that it defines.
struct Extremum {
  bool isMax;
  mlir::AffineExpr a, b;
};

/// What is known of one symbol. `max` is kUnbounded when open. One with an extremum follows from others; the rest are
/// sizes or values of inputs, or what data decide.
struct Symbol {
  static constexpr int64_t kUnbounded = -1;
  std::string name;
  int64_t min = 0;
  int64_t max = kUnbounded;
  std::optional<Extremum> extremum;
};

/// The symbols of the module that holds `op`, from `ptc.symbols`.
llvm::SmallVector<Symbol> getSymbols(mlir::Operation *op);
void setSymbols(mlir::ModuleOp module, llvm::ArrayRef<Symbol> symbols);

/// max(a, b) or min(a, b): one of them where the ranges decide it, else a symbol, added to `symbols` if it is new.
mlir::AffineExpr makeExtremum(llvm::SmallVectorImpl<Symbol> &symbols, Extremum extremum);

/// Sets the bits of the symbols that are in the expression, as far as there are bits.
void markSymbols(mlir::AffineExpr expr, llvm::SmallBitVector &symbols);

/// Whether the value of the expression follows from the symbol's, through extrema as well.
bool dependsOn(mlir::AffineExpr expr, unsigned symbol, llvm::ArrayRef<Symbol> symbols);

/// Whether an expression in the types or attributes of `op`, or of what is in it, is such.
bool hasSize(mlir::Operation *op, llvm::function_ref<bool(mlir::AffineExpr)> isSuch);

/// Gives the symbols that are extrema their values.
void evaluateExtrema(llvm::ArrayRef<Symbol> symbols, llvm::MutableArrayRef<int64_t> values);

/// Bounds of an expression from the symbols' ranges; INT64_MIN / INT64_MAX
/// where open.
struct Range {
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
};
Range getRange(mlir::AffineExpr expr, llvm::ArrayRef<Symbol> symbols);

/// The value of an expression for given symbol values. Division is floored.
int64_t evaluate(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> symbols);

/// The conditions on a call's sizes, from `ptc.guards`: each a relation of `value` to zero, and `text`. Those of the
/// module hold for all its functions. A function that has the attribute, too, has conditions of its own.
llvm::SmallVector<mlir::Attribute> getGuards(mlir::Operation *op);
/// The function around `op` that has conditions of its own, or else the module.
mlir::Operation *getGuarded(mlir::Operation *op);
/// `relation` is eq, ne, lt, le, gt or ge. A condition that is there already is not added again.
void addGuard(mlir::Operation *op, mlir::AffineExpr value, llvm::StringRef relation, const llvm::Twine &text);

/// The expression as users know it, `2*s0 + 1`, with the symbols' names.
std::string toString(mlir::AffineExpr expr, llvm::ArrayRef<Symbol> symbols);

} // namespace ptc
