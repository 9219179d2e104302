//===- BuildCall.h - a node's arguments by the operator's schema ------------===//
#pragma once

#include "compiler/import/Scope.h"
#include "compiler/import/SymbolTable.h"
#include "dialects/aten/AtenOp.h"

namespace ptc::import {

/// An operator's call with every argument under its schema's name. The schema
/// may be another overload than the node's: a number given for a tensor makes
/// `add.Tensor` an `add.Scalar`.
struct ResolvedCall {
  const aten::Schema *schema;
  aten::Call call;
  /// Operands by argument, for alias and type rules.
  llvm::SmallVector<std::pair<const aten::Argument *, mlir::Value>> tensors;
};

class CallResolver {
public:
  CallResolver(const Scope &scope, SymbolTable &symbols, mlir::OpBuilder &builder, mlir::Location loc)
      : scope(scope), symbols(symbols), builder(builder), loc(loc) {}

  llvm::Expected<ResolvedCall> resolve(const aten::Schema &schema, const Node &node);

  /// An argument of an operator that no schema describes. A tensor joins `tensors`; in the attribute it is its place
  /// there, of type index. A device is {device = "cpu"}, and so are a layout and a memory format.
  llvm::Expected<mlir::Attribute> describe(const Value &value, llvm::SmallVectorImpl<mlir::Value> &tensors);

private:
  using Given = llvm::SmallVector<const Value *>; ///< One an argument of the schema; null: not given.

  llvm::Expected<Given> match(const aten::Schema &schema, const Node &node);
  const aten::Schema *overloadForNumbers(const aten::Schema &schema, const Given &given);
  bool fits(const aten::Argument &argument, const Value &value) const;
  llvm::Error set(ResolvedCall &resolved, const aten::Argument &argument, const Value &value);
  llvm::Error setTensors(ResolvedCall &resolved, const aten::Argument &argument, const Value &value);
  llvm::Error setNumber(ResolvedCall &resolved, const aten::Argument &argument, const Value &value);
  llvm::Expected<mlir::Attribute> attribute(const aten::Argument &argument, const Value &value);
  llvm::Expected<mlir::Attribute> listAttribute(const aten::Argument &argument, const Value &value);
  llvm::Expected<mlir::Attribute> scalarAttribute(const Value &value);
  llvm::Expected<mlir::Attribute> numberAttribute(const Expression &number);
  llvm::Expected<mlir::Value> tensor(const Value &value);
  llvm::Expected<mlir::Value> tensorOfNumber(const Value &value);
  llvm::Expected<Expression> number(const Value &value) const;
  bool isNumber(const Value &value) const;
  bool isSizeFloat(const Value &value) const;

  const Scope &scope;
  SymbolTable &symbols;
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace ptc::import
