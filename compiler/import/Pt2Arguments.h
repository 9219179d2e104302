//===- Pt2Arguments.h - sizes, tensors and arguments in torch's JSON ----------===//
//
// One function for each class of the schema, `read(value, result, path)`, in
// LLVM's manner: false after having reported at `path`, so that an error names
// the very element, "graph.nodes[3].inputs[0].arg".
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/Json.h"

#include "llvm/Support/JSON.h"

namespace ptc::import {

class Pt2ArgumentReader {
public:
  using Path = llvm::json::Path;

  /// What the literal message of a Path could not say.
  std::string detail;

protected:
  virtual ~Pt2ArgumentReader() = default;
  virtual bool readGraph(JsonValue v, Graph &graph, Path path) = 0;

  static bool fail(Path path, llvm::StringLiteral message) {
    path.report(message);
    return false;
  }

  /// A member that must be there; nothing after reporting.
  static std::optional<JsonValue> member(JsonValue v, llvm::StringRef key, Path path);
  static bool readString(JsonValue v, std::string &out, Path path);
  static bool readStringMember(JsonValue v, llvm::StringRef key, std::string &out, Path path);
  static bool readInteger(JsonValue v, int64_t &out, Path path);
  static bool readReal(JsonValue v, double &out, Path path);

  /// `read(element, its path)` for each element of a list.
  static bool readList(JsonValue v, Path path, llvm::function_ref<bool(JsonValue, Path)> read);
  static bool readListMember(JsonValue v, llvm::StringRef key, Path path,
                             llvm::function_ref<bool(JsonValue, Path)> read);

  /// A union is an object with one member, named for the alternative.
  struct Alternative {
    llvm::StringRef kind;
    JsonValue content;
  };
  static std::optional<Alternative> alternative(JsonValue v, Path path);

  bool readExpression(llvm::StringRef text, Expression &out, Path path);
  bool readSymbolic(JsonValue v, Expression &out, Path path);
  bool readDType(JsonValue v, std::optional<DType> &out, Path path);
  bool readTensorMeta(JsonValue v, TensorMeta &meta, Path path);
  bool readArgument(JsonValue v, Value &out, Path path);

private:
  using Read = bool (Pt2ArgumentReader::*)(JsonValue, Value &, Path);
  bool readValues(JsonValue v, Value &out, Path path, Read read);
  bool readReference(JsonValue v, Value &out, Path path);
  bool readReferences(JsonValue v, Value &out, Path path);
  bool readSymbolicArgument(JsonValue v, Value &out, Path path);
  bool readIntegerValue(JsonValue v, Value &out, Path path);
  bool readIntegers(JsonValue v, Value &out, Path path);
  bool readRealValue(JsonValue v, Value &out, Path path);
  bool readBooleanValue(JsonValue v, Value &out, Path path);
  bool readStringValue(JsonValue v, Value &out, Path path);
  bool readScalarType(JsonValue v, Value &out, Path path);
  bool readLayout(JsonValue v, Value &out, Path path);
  bool readMemoryFormat(JsonValue v, Value &out, Path path);
  bool readDevice(JsonValue v, Value &out, Path path);
  bool readComplex(JsonValue v, Value &out, Path path);
  bool readSubgraph(JsonValue v, Value &out, Path path);
  bool readNone(JsonValue v, Value &out, Path path);

  llvm::StringMap<Expression> expressions; ///< By text: sizes repeat.
};

} // namespace ptc::import
