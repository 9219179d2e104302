//===- Graph.h - the nodes of an ONNX model => aten operations ------------------===//
#pragma once

#include "compiler/import/onnx/Model.h"
#include "compiler/import/onnx/Node.h"

namespace ptc::import::onnx {

/// The names of a graph; one inside another sees those around it.
class Scope {
public:
  explicit Scope(const Scope *outer = nullptr) : outer(outer) {}

  /// Null when nothing has that name.
  const Value *find(llvm::StringRef name) const {
    auto found = values.find(name);
    return found != values.end() ? &found->second : outer ? outer->find(name) : nullptr;
  }
  /// Whether this graph, and not one around it, has the name.
  bool binds(llvm::StringRef name) const { return values.contains(name); }
  void bind(llvm::StringRef name, Value value) {
    if (!name.empty())
      values[name] = std::move(value);
  }

private:
  const Scope *outer;
  llvm::StringMap<Value> values;
};

/// What holds for the nodes of the model's graph, or of one call of a function.
struct Frame {
  int64_t opset;
  Attributes attributes;
  int depth = 0;
};

class GraphImporter {
public:
  /// `keepsForeignNodes`: see ImportOptions.
  GraphImporter(Model &model, Builder &b, llvm::StringRef fileName, bool keepsForeignNodes);

  /// Builds initializers and nodes; names of the graph's inputs must be bound. False: see `message`.
  bool build(const proto::GraphProto &graph, Scope &scope, const Frame &frame);
  /// One input that the caller gives; nothing after a failure.
  std::optional<mlir::RankedTensorType> inputType(const proto::ValueInfoProto &input);
  /// A tensor of the file; after a failure nothing.
  Value valueOf(const proto::TensorProto &tensor, llvm::StringRef name);
  bool fail(const llvm::Twine &where, const llvm::Twine &what);
  /// "FILE: node 'x' (Conv): WHAT".
  const std::string &message() const { return text; }

  /// Whether the failure is an operator that ptc lacks.
  bool missesOperator = false;
  /// Branches that were chosen by conditions on sizes which calls must meet.
  std::vector<std::string> choices;

private:
  /// Graph: of the model, of a node, or a function.
  template <typename Graph> void addUsed(const Graph &graph);
  bool buildInitializers(const proto::GraphProto &graph, Scope &scope);
  bool buildNode(const proto::NodeProto &node, Scope &scope, const Frame &frame);
  /// `believes`: what the model declares of sizes that nobody knows.
  std::optional<Values> buildResults(const proto::NodeProto &node, Values inputs, bool believes, Scope &scope,
                                     const Frame &frame);
  /// The type that the model declares for an input or a result; an error says what is missing.
  llvm::Expected<mlir::RankedTensorType> declaredType(const proto::ValueInfoProto &value);
  Values callFunction(const proto::FunctionProto &function, const Node &node, const Frame &frame);
  Value constantOf(const Node &node);

  // Initializers that the caller may give (Overridable.cpp).
  std::optional<Values> buildKnowingLittle(const proto::NodeProto &node, Values inputs, Scope &scope,
                                           const Frame &frame);
  std::shared_ptr<const Usual> foldUsual(const proto::NodeProto &node, Values inputs, const Frame &frame);

  // Nodes that ptc does not compile (Foreign.cpp).
  std::optional<Values> buildOrKeep(const proto::NodeProto &node, const Values &inputs, Scope &scope,
                                    const Frame &frame);
  Values buildForeign(const proto::NodeProto &message, const Node &node, llvm::StringRef reason);
  bool declaresResults(const proto::NodeProto &node) const;

  // Operators that take graphs (ControlFlow.cpp).
  Values buildIf(const Node &node, Scope &scope, const Frame &frame);
  Values buildLoop(const Node &node, Scope &scope, const Frame &frame);
  std::optional<Values> unrollLoop(const Node &node, const proto::GraphProto &body, int64_t trips, Scope &scope,
                                   const Frame &frame);
  llvm::SmallVector<mlir::RankedTensorType> typesOfRows(const proto::GraphProto &body, const Values &carried,
                                                        size_t states, Scope &scope, const Frame &frame);
  Values whileLoop(const Node &node, const proto::GraphProto &body, Scope &scope, const Frame &frame);
  Values buildScan(const Node &node, Scope &scope, const Frame &frame);
  Values buildSequenceMap(const Node &node, Scope &scope, const Frame &frame);
  std::optional<Values> callGraph(const proto::GraphProto &graph, const Values &arguments, const Scope &scope,
                                  const Frame &frame);

  static constexpr size_t kMaxNodes = 1 << 18;
  static constexpr int kMaxDepth = 64;

  Model &model;
  Builder &b;
  std::string fileName, text;
  const bool keepsForeignNodes;
  size_t nodeCount = 0;
  llvm::StringMap<Ints> declared; ///< static sizes
  llvm::StringMap<const proto::ValueInfoProto *> infos;
  llvm::StringSet<> used; ///< names that a node takes or a graph answers, anywhere in the model
};

/// "node 'x' (Conv)".
std::string describe(const proto::NodeProto &node);

} // namespace ptc::import::onnx
