#include "compiler/Compile.h"

#include "compiler/Backend.h"
#include "compiler/Diagnostics.h"
#include "compiler/PassTrace.h"
#include "compiler/Pipeline.h"
#include "compiler/codegen/cpu/Target.h"
#include "compiler/import/Import.h"

#include "mlir/IR/MLIRContext.h"

using namespace mlir;

namespace ptc {

static llvm::Expected<ImportedModel> import(const Options &options, MLIRContext &context) {
  ScopedTimer timer("import", options.verbose);
  setActivity("the import");
  return importModel(options.model, {options.weights}, context);
}

LogicalResult compileModel(const Options &options, MLIRContext &context, Diagnostics &diagnostics) {
  auto check = [&](llvm::Error error) {
    bool failed = static_cast<bool>(error);
    if (failed)
      diagnostics.report(std::move(error));
    return failure(failed);
  };
  llvm::Expected<ImportedModel> model = import(options, context);
  if (!model)
    return check(model.takeError());
  llvm::Expected<cpu::Target> target = cpu::getTarget(options.march);
  if (!target)
    return check(target.takeError());
  ModuleOp module = *model->module;
  if (failed(lower(module, model->weights, std::min(options.emit, Stage::Loop), *target, options)))
    return failure();
  return check(options.emit <= Stage::Loop ? writeIr(module, options.output)
                                           : emitCode(module, model->weights, *target, options));
}

} // namespace ptc
