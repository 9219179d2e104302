//===- BuildNodes.h - the nodes of a graph => aten operations ---------------===//
#pragma once

#include "compiler/import/BuildCall.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace ptc::import {

class NodeBuilder {
public:
  NodeBuilder(mlir::OpBuilder &builder, SymbolTable &symbols, llvm::StringRef fileName)
      : builder(builder), symbols(symbols), fileName(fileName) {}

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
  llvm::Error buildUnknown(const Node &node, Scope &scope);
  llvm::Expected<bool> buildFunctionalized(const Node &node, Scope &scope);
  static std::string nameOfUnknown(llvm::StringRef target);
  llvm::Error addGraphArguments(const Node &node, const Scope &scope, mlir::OperationState &state);
  llvm::Error addArguments(llvm::ArrayRef<NamedValue> arguments, const Scope &scope, mlir::OperationState &state);
  llvm::Error createUnknown(const Node &node, Scope &scope, mlir::OperationState &state);
  llvm::Error buildRegion(const Graph &graph, mlir::OperationState &state);
  llvm::Error inlineSubgraph(const Node &node, Scope &scope, size_t subgraphIndex);
  llvm::Error checkAutocast(const Node &node) const;

  llvm::Expected<llvm::SmallVector<mlir::Type>> resultTypes(const Node &node, const ResolvedCall &resolved);
  llvm::Expected<Expression> evaluate(const Node &node, const Scope &scope);
  llvm::Expected<Expression> sizeOf(const Node &node, const Scope &scope);
  void bindResults(const Node &node, Scope &scope, mlir::Operation *op);
  void trackAliases(const ResolvedCall &resolved, mlir::Operation *op);
  llvm::ArrayRef<mlir::Value> rootsOf(mlir::Value &value) const;

  mlir::Location location(const Node &node) const;
  llvm::Error at(const Node &node, llvm::Error error) const;

  mlir::OpBuilder &builder;
  SymbolTable &symbols;
  std::string fileName;
  static constexpr size_t kMaxNodes = 1 << 20;
  size_t nodeCount = 0;
  /// What a value may be a view of.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 1>> roots;
  llvm::DenseSet<mlir::Value> mutated;
};

} // namespace ptc::import
