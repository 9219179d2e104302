//===- Dump.cpp - imports models, prints them or the time that it took ------===//
//
//   dump MODEL [--weights FILE] [--constant-initializers] [--locations]   the module on stdout
//   dump --time MODEL...                        one line each
//
// Exit status 1 and one line on stderr for a model that cannot be imported.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/Decompose.h"
#include "compiler/import/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

static double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static bool dump(llvm::StringRef path, const ptc::ImportOptions &options, bool timeOnly, bool locations) {
  double start = milliseconds();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  double created = milliseconds();
  auto model = ptc::importModel(path, options, context);
  double imported = milliseconds();
  if (!model) {
    llvm::errs() << "error: " << llvm::toString(model.takeError()) << '\n';
    return false;
  }
  bool ok = mlir::succeeded(mlir::verify(*model->module));
  double verified = milliseconds();
  if (llvm::Error error = model->weights.verify()) {
    llvm::errs() << "error: " << llvm::toString(std::move(error)) << '\n';
    return false;
  }
  double checked = milliseconds();
  if (!timeOnly) {
    model->module->print(llvm::outs(), mlir::OpPrintingFlags().enableDebugInfo(locations));
    return ok;
  }
  size_t operations = 0;
  model->module->walk([&](mlir::Operation *) { ++operations; });
  llvm::outs() << llvm::format("%-60s %5zu operations %9.1f MiB  import %6.1f ms, verify %5.1f, checksums %6.1f, "
                               "context %4.1f\n",
                               path.str().c_str(), operations, model->weights.totalBytes() / 1048576.0,
                               imported - created, verified - imported, checked - verified, created - start);
  return ok;
}

int main(int argc, char **argv) {
  ptc::ImportOptions options{"", ptc::findResultTypes};
  std::vector<std::string> paths;
  bool timeOnly = false, locations = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--time")
      timeOnly = true;
    else if (argument == "--locations")
      locations = true;
    else if (argument == "--constant-initializers")
      options.constantInitializers = true;
    else if (argument == "--weights" && i + 1 < argc)
      options.weights = argv[++i];
    else
      paths.push_back(argument.str());
  }
  bool ok = !paths.empty();
  for (const std::string &path : paths)
    ok &= dump(path, options, timeOnly, locations);
  return ok ? 0 : 1;
}
