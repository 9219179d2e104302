//===- ExportedProgram.h - what every importer reads a model into ----------===//
//
// The content of a torch.export.ExportedProgram (or of a printed FX graph),
// names unresolved and nothing interpreted. The file formats end here; BuildAten
// begins here. Knows nothing of MLIR.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/DType.h"
#include "compiler/import/Expression.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ptc::import {

struct TensorMeta {
  DType dtype = DType::Float32;
  std::vector<Expression> sizes;
  bool requiresGrad = true; ///< Of a parameter. Printed graphs do not say.
};

struct Graph;

/// An argument of a node, an element of a list, or an output of a graph.
struct Value {
  enum Kind : uint8_t {
    None,
    Reference, ///< `text` is the name of a tensor or of a symbolic number.
    Integer,
    Real,
    Boolean,
    Complex, ///< real, imaginary
    String,
    ScalarType,   ///< dtype
    Device,       ///< "cpu", "cuda:0"
    Layout,       ///< "strided"
    MemoryFormat, ///< "contiguous_format"
    List,
    Subgraph, ///< `text` is its name in the file.
    Opaque,   ///< Something with no meaning for a tensor program; `text` says what.
  };

  Kind kind = None;
  DType dtype = DType::Float32;
  int64_t integer = 0; ///< Integer, Boolean
  double real = 0, imaginary = 0;
  std::string text;
  std::vector<Value> elements;
  std::shared_ptr<Graph> graph;

  static Value make(Kind kind, llvm::StringRef text) {
    Value value;
    value.kind = kind;
    value.text = text.str();
    return value;
  }
  static Value makeInteger(int64_t integer) {
    Value value;
    value.kind = Integer;
    value.integer = integer;
    return value;
  }
};

struct NamedValue {
  std::string name; ///< Empty: positional.
  Value value;
  bool isPositional = false; ///< Though the file names it: the call had it at its place.
};

/// A value that a graph's input or a node defines.
struct Definition {
  std::string name;                   ///< Empty: nothing refers to it.
  std::optional<TensorMeta> tensor;   ///< When the file says that it is a tensor.
  std::optional<Expression> symbolic; ///< When the file says that it is a number.
  bool isNone = false;

  bool isTyped() const { return tensor || symbolic || isNone; }
};

struct Source {
  /// The line of the user's program; line 0: unknown.
  std::string file;
  unsigned line = 0;
  std::string module; ///< "encoder.layers.0"
  /// Where in the model's file, for errors: 0 when that means nothing to a user.
  unsigned graphLine = 0, graphColumn = 0;
};

struct Node {
  std::string name;
  /// "aten.add.Tensor", "higher_order.cond", "operator.mul", "torch.sym_max".
  std::string target;
  std::vector<NamedValue> inputs;
  /// One for each tensor that the operator returns, lists flattened; an FX
  /// graph's `getitem` nodes have become names here.
  std::vector<Definition> outputs;
  /// outputs[0] is the operator's only result, not the first of several.
  bool isSingleOutput = true;
  Source source;
};

struct Graph {
  std::vector<Definition> inputs;
  std::vector<Node> nodes;
  std::vector<Value> outputs;
  /// Printed Python may refer to one value by several names.
  llvm::StringMap<std::string> aliases;
};

enum class InputKind : uint8_t { UserInput, Parameter, Buffer, TensorConstant, ConstantInput, CustomObject, Token };

struct InputSpec {
  InputKind kind = InputKind::UserInput;
  std::string name;   ///< Of the graph's input.
  std::string target; ///< Of the weight: "layer.0.weight".
};

enum class OutputKind : uint8_t {
  UserOutput,
  BufferMutation,
  ParameterMutation,
  UserInputMutation,
  Gradient, ///< Of a joint graph: to a parameter or an input.
  Token,
};

struct OutputSpec {
  OutputKind kind = OutputKind::UserOutput;
  /// Of a mutation: the weight's or the user input's name. Of a user output: what the module calls it ("logits"); empty
  /// where it has the name of its value.
  std::string target;
};

struct RangeConstraint {
  Expression expression; ///< Mostly a symbol.
  int64_t min = INT64_MIN, max = INT64_MAX;
};

struct ExportedProgram {
  Graph graph;
  std::vector<InputSpec> inputs;   ///< One for each of graph.inputs.
  std::vector<OutputSpec> outputs; ///< One for each of graph.outputs.
  std::vector<RangeConstraint> ranges;
  std::vector<Expression> guards; ///< Conditions that must hold, beyond the ranges.
  /// Symbols are what the exporter proved; else (hand-written text) sizes
  /// start at 0 and not at torch.export's usual 2.
  bool hasRanges = false;
};

/// A tensor as it lies in a file.
struct StoredTensor {
  std::optional<DType> dtype; ///< None: a type that ptc does not know,
  std::string dtypeName;      ///< which the file calls so.
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;         ///< Of the first element, in elements.
  llvm::ArrayRef<char> bytes; ///< Of the storage, which others may share.
};

using StoredTensors = llvm::StringMap<StoredTensor>;

} // namespace ptc::import
