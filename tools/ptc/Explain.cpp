#include "compiler/Diagnostics.h"
#include "compiler/Pipeline.h"
#include "compiler/explain/Report.h"
#include "tools/ptc/Commands.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

namespace ptc {

int explain(const ExplainOptions &options) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<Report> report = explainModel(options.compile, context);
  if (!report) {
    printError(llvm::toString(report.takeError()));
    return kModelAtFault;
  }
  if (options.json)
    llvm::outs() << llvm::formatv("{0:2}", toJson(*report)) << '\n';
  else
    print(*report, llvm::outs());
  return kDone;
}

} // namespace ptc
