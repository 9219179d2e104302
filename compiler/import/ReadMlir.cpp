#include "compiler/import/ReadMlir.h"

#include "compiler/import/CheckMlir.h"
#include "compiler/import/LoadWeight.h"
#include "runtime/RandomState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Expected<OwningOpRef<ModuleOp>> readMlir(std::unique_ptr<llvm::MemoryBuffer> file, StringRef path,
                                               MLIRContext &context) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (!message.empty() || diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string where = path.str();
    if (auto loc = llvm::dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      where += ":" + std::to_string(loc.getLine()) + ":" + std::to_string(loc.getColumn());
    message = where + ": " + diagnostic.str();
    return success();
  });
  if (llvm::Error error = checkMlirText(file->getBuffer()))
    return fail(path + ":" + llvm::toString(std::move(error)));
  // MLIR's lexer wants a zero behind the text.
  auto copy = llvm::MemoryBuffer::getMemBufferCopy(file->getBuffer(), path);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(copy), llvm::SMLoc());
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return fail(message.empty() ? path + ": is no MLIR module" : llvm::Twine(message));
  if (llvm::Error error = checkMlirModule(*module))
    return fail(path + ": " + llvm::toString(std::move(error)));
  return module;
}

static llvm::Error loadArguments(func::FuncOp function, const StoredTensors &tensors, StringRef weightsName,
                                 WeightStore &weights) {
  MLIRContext &context = *function.getContext();
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringAttr name;
    for (const char *role : {"ptc.weight", "ptc.state", "ptc.default"})
      name = name ? name : function.getArgAttrOfType<StringAttr>(i, role);
    if (!name)
      continue;
    if (name == runtime::kRandomState) {
      addRandomState(weights, context);
      continue;
    }
    auto stored = tensors.find(name.getValue());
    std::string where = "weight '" + name.str() + "': ";
    if (stored == tensors.end())
      return fail(where +
                  (weightsName.empty() ? llvm::Twine("no weights file beside the model") : "not in " + weightsName) +
                  " (give one with --weights)");
    auto weight = loadWeight(name, stored->second, weights, context);
    if (!weight)
      return fail(where + llvm::toString(weight.takeError()));
    if (weight->type != function.getArgumentTypes()[i]) {
      std::string text;
      llvm::raw_string_ostream(text) << "is " << function.getArgumentTypes()[i] << " in the module, but "
                                     << weight->type << " in " << weightsName;
      return fail(where + text);
    }
  }
  return llvm::Error::success();
}

llvm::Error loadArguments(ModuleOp module, const StoredTensors &tensors, StringRef weightsName, WeightStore &weights) {
  for (auto function : module.getOps<func::FuncOp>())
    if (llvm::Error error = loadArguments(function, tensors, weightsName, weights))
      return error;
  return llvm::Error::success();
}

} // namespace ptc::import
