#include "compiler/Pipeline.h"
#include "compiler/explain/Operators.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/support/Diagnostics.h"
#include "tools/ptc/Commands.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace ptc {

static int listOperators(bool json) {
  llvm::json::Array array;
  for (llvm::StringRef name : aten::allNames()) {
    OperatorSupport support = describeSupport(*aten::lookup(name));
    if (json)
      array.push_back(toJson(support));
    else if (support.isSupported)
      llvm::outs() << name << '\n';
  }
  if (json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(array))) << '\n';
  return kDone;
}

static int listOnnx(bool json) {
  llvm::json::Array array;
  for (llvm::StringRef name : import::onnxOperators())
    array.push_back(name);
  if (json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(array))) << '\n';
  else
    for (const llvm::json::Value &name : array)
      llvm::outs() << *name.getAsString() << '\n';
  return kDone;
}

int ops(const OpsOptions &options) {
  if (options.onnx && !options.name.empty()) {
    printError("command line: --onnx lists all of ONNX's operators and takes no name");
    return kUsage;
  }
  if (options.onnx)
    return listOnnx(options.json);
  if (options.name.empty())
    return listOperators(options.json);
  auto operators = findOperators(options.name);
  if (!operators) {
    printError("command line: " + llvm::toString(operators.takeError()));
    return kUsage;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  llvm::json::Array array;
  for (const aten::Schema *schema : *operators) {
    OperatorReport report = describeOperator(*schema, context);
    if (options.json)
      array.push_back(toJson(report));
    else
      print(report, llvm::outs());
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(array))) << '\n';
  return kDone;
}

} // namespace ptc
