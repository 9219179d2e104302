//===- Model.h - an ONNX file, parsed and within limits ----------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/onnx/Proto.h"
#include "compiler/weights/WeightStore.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace ptc::import::onnx {

/// The opsets whose operators are known (docs/onnx.md).
constexpr int64_t kFirstOpset = 1, kLastOpset = 28;

class Model {
public:
  /// The error says what is wrong with the file, and not which one it is.
  static llvm::Expected<std::unique_ptr<Model>> open(std::shared_ptr<llvm::MemoryBuffer> file, llvm::StringRef path);

  const proto::ModelProto &message() const { return model; }
  const proto::GraphProto &graph() const { return model.graph(); }

  /// The version of ONNX's own operators.
  int64_t opset() const { return version; }
  /// A function of the model's; null when there is none.
  const proto::FunctionProto *function(llvm::StringRef domain, llvm::StringRef name) const;

  /// The files with external data that its tensors name, as paths; those that are not allowed are left out.
  std::vector<std::string> externalPaths() const;

  /// FunctionProto.attribute_proto: the attributes of a function that have a default.
  static std::vector<proto::AttributeProto> defaultAttributes(const proto::FunctionProto &function);

  /// Gives initializers of the main graph other values, of the same types and sizes. Floating ones must all be there,
  /// but in a checkpoint.
  llvm::Error replace(const StoredTensors &given);

  /// Reads a tensor. Its bytes stay mapped or are owned by `weights`, which also keeps files with external data open.
  /// Integers narrower than a byte become bytes, and `dtypeName` is the file's name for their type.
  llvm::Expected<StoredTensor> read(const proto::TensorProto &tensor, WeightStore &weights);

private:
  Model() = default;
  llvm::Expected<llvm::ArrayRef<char>> external(const proto::TensorProto &tensor, WeightStore &weights);
  llvm::Expected<std::string> externalPath(llvm::StringRef location) const;

  proto::ModelProto model;
  std::shared_ptr<llvm::MemoryBuffer> file;
  std::string path;
  int64_t version = 0;
  llvm::StringMap<const proto::FunctionProto *> functions;
  llvm::DenseMap<const proto::TensorProto *, StoredTensor> replacements;
  llvm::StringMap<std::shared_ptr<llvm::MemoryBuffer>> externalFiles;
};

/// The opset of ONNX's own operators among a model's or a function's; 0 when it has none.
template <class Message> int64_t ownOpset(const Message &message) {
  for (const auto &entry : message.opset_import())
    if (entry.domain().empty() || entry.domain() == "ai.onnx")
      return entry.version();
  return 0;
}

} // namespace ptc::import::onnx
