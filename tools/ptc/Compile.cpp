#include "compiler/Compile.h"

#include "compiler/Diagnostics.h"
#include "compiler/Pipeline.h"
#include "tools/ptc/Commands.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

namespace ptc {

int compile(const Options &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  // A model is one function: MLIR's threads would have nothing to do.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  if (llvm::succeeded(compileModel(options, context, diagnostics)))
    return kDone;
  return diagnostics.printFirst();
}

} // namespace ptc
