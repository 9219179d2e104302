//===- ImportOnnx.cpp -----------------------------------------------------===//

#include "compiler/import/onnx/ImportOnnx.h"

#include "compiler/import/onnx/Graph.h"
#include "compiler/import/onnx/Table.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {
namespace onnx {
namespace {

class ModelImporter {
public:
  ModelImporter(Model &model, StringRef path, WeightStore &weights, FindTypes findTypes, MLIRContext &context)
      : model(model), module(ModuleOp::create(UnknownLoc::get(&context))), symbols(&context, ExportedProgram()),
        function(makeFunction(*module)), b(*module, function, symbols, weights, findTypes), graph(model, b, path) {}

  llvm::Expected<OwningOpRef<ModuleOp>> run();

private:
  static func::FuncOp makeFunction(ModuleOp module);
  bool buildInputs(Scope &scope);
  bool buildOutputs(const Scope &scope);

  Model &model;
  OwningOpRef<ModuleOp> module;
  SymbolTable symbols;
  func::FuncOp function;
  Builder b;
  GraphImporter graph;
};

func::FuncOp ModelImporter::makeFunction(ModuleOp module) {
  OpBuilder builder(module.getBodyRegion());
  builder.setInsertionPointToEnd(module.getBody());
  auto function = func::FuncOp::create(builder, builder.getUnknownLoc(), "forward", builder.getFunctionType({}, {}));
  function.addEntryBlock();
  return function;
}

bool ModelImporter::buildInputs(Scope &scope) {
  llvm::StringSet<> given;
  for (const proto::TensorProto &tensor : model.graph().initializer())
    given.insert(tensor.name());
  llvm::StringSet<> names;
  for (const proto::ValueInfoProto &input : model.graph().input()) {
    if (given.contains(input.name()))
      continue;
    if (input.name().empty() || !names.insert(input.name()).second)
      return graph.fail("input '" + input.name() + "'", "occurs twice, or has no name");
    auto type = graph.inputType(input);
    if (!type)
      return false;
    if (b.hasFailed())
      return graph.fail("input '" + input.name() + "'", b.takeError());
    auto attrs = b.builder.getDictionaryAttr(
        b.builder.getNamedAttr("ptc.input", b.builder.getStringAttr(input.name())));
    (void)function.insertArgument(function.getNumArguments(), *type, attrs,
                                  NameLoc::get(b.builder.getStringAttr(input.name())));
    scope.bind(input.name(), b.wrap(function.getArguments().back()));
  }
  symbols.publish(*module);
  return true;
}

bool ModelImporter::buildOutputs(const Scope &scope) {
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<DictionaryAttr> roles;
  for (const proto::ValueInfoProto &output : model.graph().output()) {
    const Value *value = scope.find(output.name());
    if (!value)
      return graph.fail("output '" + output.name() + "'", "is not defined");
    if (value->isNarrow())
      return graph.fail("output '" + output.name() + "'",
                        "tensors of " + value->stored->tensor.dtypeName + " are not supported");
    results.push_back(b.tensor(*value));
    if (b.hasFailed())
      return graph.fail("output '" + output.name() + "'", b.takeError());
    roles.push_back(b.builder.getDictionaryAttr(
        b.builder.getNamedAttr("ptc.output", b.builder.getStringAttr(output.name()))));
  }
  func::ReturnOp::create(b.builder, b.builder.getUnknownLoc(), results);
  auto types = llvm::map_to_vector(results, [](mlir::Value v) { return v.getType(); });
  function.setFunctionType(b.builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(roles);
  return true;
}

/// Names in a file may be anything.
std::string inOneLine(std::string text) {
  for (char &c : text)
    if (uint8_t(c) < ' ' || c == 0x7f)
      c = '?';
  return text;
}

llvm::Expected<OwningOpRef<ModuleOp>> ModelImporter::run() {
  b.builder.setInsertionPointToEnd(&function.getBody().front());
  Scope scope;
  Frame frame{model.opset(), {}};
  if (!buildInputs(scope) || !graph.build(model.graph(), scope, frame) || !buildOutputs(scope))
    return llvm::createStringError(inOneLine(graph.message()));
  symbols.annotate(*module);
  return std::move(module);
}

} // namespace
} // namespace onnx

llvm::Expected<ImportedModel> importOnnx(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                         const ImportOptions &options, MLIRContext &context) {
  std::shared_ptr<llvm::MemoryBuffer> content = std::move(file);
  ImportedModel result;
  result.weights.keep(content);
  if (!options.findTypes)
    return llvm::createStringError(path + ": this program cannot read ONNX");
  auto model = onnx::Model::open(content, path);
  if (!model)
    return llvm::createStringError(path + ": " + llvm::toString(model.takeError()));
  auto module = onnx::ModelImporter(**model, path, result.weights, options.findTypes, context).run();
  if (!module)
    return module.takeError();
  result.module = std::move(*module);
  return result;
}

std::vector<std::string> findExternalData(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path) {
  auto model = onnx::Model::open(std::move(file), path);
  if (model)
    return (*model)->externalPaths();
  llvm::consumeError(model.takeError());
  return {};
}

std::vector<StringRef> onnxOperators() { return onnx::operatorNames(); }

} // namespace ptc::import
