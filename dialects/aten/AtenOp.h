//===- AtenOp.h - an aten operation, seen through its schema --------------===//
//
// Reading: `AtenOp op(operation); op.tensor("self"), op.symInts("stride")`.
// An accessor answers the schema's default for an argument that is not there.
//
// Creating: `Call(schema).set("self", x).set("dim", 1).create(b, loc, types)`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/aten/ArgumentAttr.h"
#include "dialects/aten/Schema.h"
#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace ptc::aten {

/// Number of operands that each argument of the schema takes.
constexpr llvm::StringLiteral kSegmentsAttr = "operand_segments";
/// `<argument>_present`: which elements of a `Tensor?[]` are there.
constexpr llvm::StringLiteral kPresentSuffix = "_present";

class AtenOp {
public:
  /// `op` must be an aten operation that the schema table knows (see isKnown).
  explicit AtenOp(mlir::Operation *op);

  static bool isAten(mlir::Operation *op);
  static bool isKnown(mlir::Operation *op);

  mlir::Operation *operation() const { return op; }
  mlir::Operation *operator->() const { return op; }
  mlir::Location loc() const { return op->getLoc(); }
  /// "add.Tensor"
  llvm::StringRef name() const { return schema_->name; }
  const Schema &schema() const { return *schema_; }

  /// Whether the schema has such an argument.
  bool hasArgument(llvm::StringRef argument) const { return schema_->find(argument); }
  /// Whether the argument was given or defaulted to something other than None.
  bool isNone(llvm::StringRef argument) const;
  /// Whether the operation itself carries the argument (not its default).
  bool isGiven(llvm::StringRef argument) const;

  /// Null when None.
  mlir::Value tensor(llvm::StringRef argument) const;
  /// Null elements where a `Tensor?[]` has None; empty when None.
  llvm::SmallVector<mlir::Value> tensors(llvm::StringRef argument) const;

  /// int and SymInt; null when None.
  mlir::AffineExpr symInt(llvm::StringRef argument) const;
  /// int[] and SymInt[]; empty when None. `int[2] x=1` answers {1, 1}.
  Shape symInts(llvm::StringRef argument) const;
  /// As above where the number must be known at compile time; nullopt when
  /// None or symbolic.
  std::optional<int64_t> optionalInt(llvm::StringRef argument) const;
  std::optional<llvm::SmallVector<int64_t>> optionalInts(llvm::StringRef argument) const;
  /// Asserts that the number is known.
  int64_t integer(llvm::StringRef argument) const { return *optionalInt(argument); }
  llvm::SmallVector<int64_t> integers(llvm::StringRef argument) const { return *optionalInts(argument); }

  std::optional<double> optionalFloat(llvm::StringRef argument) const;
  double real(llvm::StringRef argument) const { return *optionalFloat(argument); }
  std::optional<llvm::SmallVector<double>> optionalFloats(llvm::StringRef argument) const;

  /// False when None.
  bool boolean(llvm::StringRef argument) const;
  std::optional<bool> optionalBool(llvm::StringRef argument) const;
  llvm::SmallVector<bool> booleans(llvm::StringRef argument) const;

  /// nullopt when None.
  std::optional<Scalar> scalar(llvm::StringRef argument) const;
  llvm::SmallVector<Scalar> scalars(llvm::StringRef argument) const;

  /// Empty when None. Also for device, layout, memory_format.
  llvm::StringRef string(llvm::StringRef argument) const;
  /// The element type that a ScalarType names; null when None.
  mlir::Type dtype(llvm::StringRef argument) const;

  /// The attribute that holds a non-tensor argument; null when not given.
  mlir::Attribute attribute(llvm::StringRef argument) const;

  mlir::Value result(unsigned i = 0) const { return op->getResult(i); }

private:
  const Argument &argument(llvm::StringRef name) const;
  /// The given attribute, else the parsed default; null for None.
  mlir::Attribute value(llvm::StringRef name) const;
  llvm::SmallVector<mlir::Value> segment(llvm::StringRef name) const;

  mlir::Operation *op;
  const Schema *schema_;
};

/// A note at scaled_dot_product_attention: rows whose scores are all -inf are NaN, as softmax has them, and not 0.
inline constexpr llvm::StringLiteral kEmptyIsNanNote = "ptc.empty_is_nan";

/// Collects the arguments of an operation about to be created.
class Call {
public:
  explicit Call(const Schema &schema);
  /// For names known when ptc was written: asserts that the table has it.
  explicit Call(llvm::StringRef name);
  /// A call with the arguments of `op` that this schema has too, by name. The
  /// start of turning `add_` into `add`.
  Call &copyArguments(const AtenOp &op);

  /// Null (None) is allowed for an optional argument.
  Call &set(llvm::StringRef argument, mlir::Value tensor);
  /// Null elements are None, for `Tensor?[]`.
  Call &set(llvm::StringRef argument, llvm::ArrayRef<mlir::Value> tensors);
  /// Null unsets: the default holds.
  Call &set(llvm::StringRef argument, mlir::Attribute attribute);
  Call &set(llvm::StringRef argument, mlir::AffineExpr integer);
  Call &set(llvm::StringRef argument, ShapeRef integers, mlir::MLIRContext *context);

  /// Element types are the caller's knowledge: PyTorch's own result types.
  mlir::Operation *create(mlir::OpBuilder &builder, mlir::Location loc, mlir::TypeRange results) const;

private:
  struct Given {
    llvm::SmallVector<mlir::Value> tensors;
    mlir::Attribute attribute;
  };
  unsigned index(llvm::StringRef argument) const;

  const Schema *schema_;
  llvm::SmallVector<Given> values; ///< One an argument of the schema.
};

/// An operator that the schema table does not know; represented so that
/// `explain` can report it: "aten.mystery.default", and for another namespace
/// "aten.custom.mylib.scale.default". All attributes are kept as they are.
mlir::Operation *createUnknown(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef name,
                               mlir::ValueRange operands, llvm::ArrayRef<mlir::NamedAttribute> attributes,
                               mlir::TypeRange results);

} // namespace ptc::aten
