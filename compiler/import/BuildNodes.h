//===- BuildNodes.h - the nodes of a graph => aten operations ---------------===//
#pragma once

#include "compiler/import/BuildCall.h"
#include "compiler/import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ptc::import {

class NodeBuilder {
public:
  /// `function` is the model's, with whose arguments sizes come. `findTypes` may be null: then the file is believed.
  NodeBuilder(mlir::OpBuilder &builder, mlir::func::FuncOp &function, SymbolTable &symbols, FindTypes findTypes,
              llvm::StringRef fileName, bool isTraining)
      : builder(builder), function(function), symbols(symbols), findTypes(findTypes), fileName(fileName),
        isTraining(isTraining) {}

  /// Builds the nodes in order; names of the graph's inputs must be bound.
  llvm::Error build(const Graph &graph, Scope &scope);

  /// The tensor for an output of a graph; null for None.
  llvm::Expected<mlir::Value> buildOutput(const Value &value, const Scope &scope);

  llvm::Expected<mlir::Value> buildNumberOutput(const Expression &number, mlir::Location loc);

  llvm::Expected<mlir::RankedTensorType> tensorType(const TensorMeta &meta);

  /// Values that the graph wrote to, in place and through views.
  bool isMutated(mlir::Value value) const { return mutated.contains(value); }

private:
  llvm::Error buildNode(const Node &node, Scope &scope);
  llvm::Error buildAten(const Node &node, Scope &scope, const aten::Schema &schema);
  llvm::Error buildFunction(const Node &node, Scope &scope);
  bool isNumber(const Node &node, const Scope &scope) const;
  llvm::Error buildNumber(const Node &node, Scope &scope);
  void requireDivisor(const Expression &number);
  llvm::Error buildUnknown(const Node &node, Scope &scope);
  llvm::Expected<bool> buildFunctionalized(const Node &node, Scope &scope);
  static std::string nameOfUnknown(llvm::StringRef target);
  llvm::Error addGraphArguments(const Node &node, const Scope &scope, mlir::OperationState &state);
  llvm::Error addArguments(llvm::ArrayRef<NamedValue> arguments, const Scope &scope, mlir::OperationState &state);
  llvm::Error createUnknown(const Node &node, Scope &scope, mlir::OperationState &state);
  llvm::Error buildRegion(const Graph &graph, mlir::OperationState &state);
  llvm::Error inlineSubgraph(const Node &node, Scope &scope, size_t subgraphIndex);
  llvm::Error inlineGradMode(const Node &node, Scope &scope);
  llvm::Error checkAutocast(const Node &node) const;

  llvm::Expected<llvm::SmallVector<mlir::Type>> resultTypes(const Node &node, const ResolvedCall &resolved);
  llvm::Expected<Expression> evaluate(const Node &node, const Scope &scope);
  llvm::Expected<Expression> sizeOf(const Node &node, const Scope &scope);
  bool isDerived(const Value &value, const Scope &scope) const;
  bool takesDerived(const Node &node, const Scope &scope) const;
  bool isGiven(mlir::AffineExpr size) const;
  void assume(llvm::StringRef relation, mlir::AffineExpr a, mlir::AffineExpr b);
  llvm::Error checkTypes(mlir::Operation *op);
  llvm::Error checkRegions(mlir::Operation *op);
  llvm::Error checkType(mlir::OpResult result, mlir::RankedTensorType own, bool isDerived);
  mlir::RankedTensorType findSliceType(const aten::AtenOp &slice);
  llvm::Expected<Expression> checkNumber(const Expression &own, const Expression &said, bool isDerived);
  void bindResults(const Node &node, Scope &scope, mlir::Operation *op);
  void bindAssertion(const Node &node, mlir::Operation *op);
  void trackAliases(const ResolvedCall &resolved, mlir::Operation *op);
  llvm::ArrayRef<mlir::Value> rootsOf(mlir::Value &value) const;

  mlir::Location location(const Node &node) const;
  llvm::Error at(const Node &node, llvm::Error error) const;

  mlir::OpBuilder &builder;
  mlir::func::FuncOp &function;
  SymbolTable &symbols;
  FindTypes findTypes;
  std::string fileName;
  bool isTraining;
  static constexpr size_t kMaxNodes = 1 << 20;
  size_t nodeCount = 0;
  /// What a value may be a view of.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> roots;
  llvm::DenseSet<mlir::Value> mutated;
  size_t symbolsBefore = 0; ///< how many symbols there were before the node
  /// Results whose types are not what the file says.
  llvm::DenseSet<mlir::Value> derived;
};

} // namespace ptc::import
