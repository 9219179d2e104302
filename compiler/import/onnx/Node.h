//===- Node.h - one node of an ONNX graph, as the table's rows see it ----------===//
#pragma once

#include "compiler/import/onnx/Builder.h"
#include "compiler/import/onnx/Proto.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <functional>

namespace ptc::import::onnx {

/// What a function's node gives for the attributes that the function's own nodes refer to.
using Attributes = llvm::StringMap<const proto::AttributeProto *>;

class Node {
public:
  Node(Builder &b, const proto::NodeProto &message, Values inputs, int64_t opset, const Attributes &given)
      : opset(opset), b(b), message(message), inputs(std::move(inputs)), given(given) {}

  /// The version of ONNX's operators that holds here.
  const int64_t opset;

  /// The same node with other inputs: an operator that is another one and something more has the attributes of both.
  Node with(Values others) const { return with(std::move(others), opset); }
  Node with(Values others, int64_t version) const {
    Node node(b, message, std::move(others), version, given);
    node.used = used;
    node.declared = declared;
    node.constant = constant;
    return node;
  }

  /// Fails when the input is missing.
  const Value &operator[](unsigned i) const;
  /// Nothing when it is missing.
  Value input(unsigned i) const { return i < inputs.size() ? inputs[i] : b.none(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  unsigned count() const { return inputs.size(); }
  const Values &all() const { return inputs; }
  unsigned outputs() const { return message.output_size(); }
  bool wants(unsigned output) const {
    return output < outputs() && !message.output(output).empty() && (!used || used->contains(message.output(output)));
  }

  bool hasAttribute(llvm::StringRef name) const { return find(name); }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  double real(llvm::StringRef name, double otherwise) const;
  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const;
  std::optional<Ints> ints(llvm::StringRef name) const;
  /// Of exactly this length; all `otherwise` when it is not there.
  Ints ints(llvm::StringRef name, size_t length, int64_t otherwise) const;
  std::optional<llvm::SmallVector<double>> reals(llvm::StringRef name) const;
  std::vector<std::string> texts(llvm::StringRef name) const;
  /// Those of an attribute that is a tensor, however many; none when it is not there.
  llvm::SmallVector<double> numbers(llvm::StringRef name) const;
  /// The element type that an integer attribute names; null when it is not there.
  mlir::Type elementType(llvm::StringRef name) const;
  const proto::AttributeProto *find(llvm::StringRef name) const;

  /// Integers that were an attribute before they became an input; nullopt when neither is there.
  std::optional<Ints> intsOrInput(llvm::StringRef name, unsigned i) const;

  /// The names that some node takes, or a graph answers; null: nothing is known of them.
  const llvm::StringSet<> *used = nullptr;

  /// The static sizes that the model declares for an output: what a result is when only data say its size.
  llvm::SmallVector<std::optional<Ints>> declared;

  /// A tensor among the attributes.
  std::function<Value(const proto::TensorProto &)> constant;

private:
  Builder &b;
  const proto::NodeProto &message;
  Values inputs;
  const Attributes &given;
};

/// x and a bias, which may be missing.
inline Value plusBias(const Value &x, const Value &bias) { return bias ? x + bias : x; }

/// The sizes that an output has by the model's own word, where only data would say them.
std::optional<Shape> declaredShape(Builder &b, const Node &n);

/// Numbers for some axes, which are data, as one for every dimension.
Value forAllAxes(Builder &b, const Value &numbers, const Value &axes, int64_t rank, double otherwise);

/// What is computed along a dimension that data choose: along every one, all of one shape.
Value alongDataAxis(Builder &b, const Value &axis, int64_t rank, llvm::function_ref<Value(int64_t)> compute);

} // namespace ptc::import::onnx
