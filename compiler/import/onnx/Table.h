//===- Table.h - ONNX's operators as compositions of ATen's ---------------------===//
//
// A row a operator, in files by family (Elementwise.cpp, Network.cpp, …). An
// operator that ATen has is one call; another is said in a few. What changed
// between opsets is told apart by `node.opset`. Control flow is not here but
// in ControlFlow.cpp: it builds graphs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/onnx/Node.h"

#include <functional>

namespace ptc::import::onnx {

using Row = std::function<Values(Builder &b, const Node &node)>;

class Table {
public:
  /// Several names (separated by spaces) may share a row. Those of another domain than ONNX's own have it before them:
  /// "com.microsoft.BiasGelu".
  void rows(llvm::StringRef names, Row row);
  /// An operator with one result.
  void row(llvm::StringRef names, std::function<Value(Builder &b, const Node &node)> row) {
    rows(names, [row = std::move(row)](Builder &b, const Node &node) { return Values{row(b, node)}; });
  }
  /// Null when there is none.
  const Row *find(llvm::StringRef name) const;
  /// Sorted.
  std::vector<llvm::StringRef> names() const;

private:
  llvm::StringMap<Row> all;
};

const Table &table();
/// The node as one of ONNX's own operators builds it.
Values buildAs(Builder &b, llvm::StringRef name, const Node &node);
/// Of the table, and those that build graphs; sorted.
std::vector<llvm::StringRef> operatorNames();

void addAttention(Table &t);
void addClassical(Table &t);
void addDeformable(Table &t);
void addDetection(Table &t);
void addElementwise(Table &t);
void addFused(Table &t);
void addFusedAttention(Table &t);
void addFusedQuantization(Table &t);
void addIndexing(Table &t);
void addLoss(Table &t);
void addNetwork(Table &t);
void addNormalization(Table &t);
void addPad(Table &t);
void addPooling(Table &t);
void addQuantization(Table &t);
void addRandom(Table &t);
void addRecurrent(Table &t);
void addReduction(Table &t);
void addResize(Table &t);
void addSequence(Table &t);
void addShape(Table &t);
void addSignal(Table &t);
void addSlice(Table &t);
void addTfIdf(Table &t);
void addTrees(Table &t);

} // namespace ptc::import::onnx
