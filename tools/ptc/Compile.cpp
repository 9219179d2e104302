#include "compiler/Compile.h"

#include "compiler/Pipeline.h"
#include "compiler/import/Import.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Measure.h"
#include "tools/ptc/Outputs.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

namespace ptc {

/// The whole file goes to stdout, once it is complete.
static int compileToStdout(Options options, std::vector<std::string> &written) {
  if (options.emit >= Stage::Obj && isatty(STDOUT_FILENO)) {
    printError("command line: --output -: a library is nothing for a terminal (redirect it, or name a file)");
    return kUsage;
  }
  auto fail = [](llvm::Error error) {
    printError(llvm::toString(std::move(error)));
    return kModelAtFault;
  };
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("ptc", "out", path))
    return fail(llvm::createStringError(error, "a file for the output: " + error.message()));
  llvm::FileRemover remover(path);
  options.output = path.str().str();
  std::vector<std::string> files;
  if (int status = compile(options, files))
    return status;
  llvm::Expected<MappedFile> file = MappedFile::open(path);
  if (!file)
    return fail(file.takeError());
  llvm::outs() << file->content();
  written.push_back("-");
  return kDone;
}

int compile(const Options &options, std::vector<std::string> &written) {
  if (options.output == "-")
    return compileToStdout(options, written);
  if (!areApart(options))
    return kUsage;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  // A model is one function: MLIR's threads would have nothing to do.
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Diagnostics diagnostics(&context);
  if (llvm::failed(compileModel(options, context, diagnostics, createMeasurer(options))))
    return diagnostics.printFirst();
  written.push_back(options.output);
  return kDone;
}

/// model.so of graph 2 is model-graph2.so.
static std::string outputOfGraph(llvm::StringRef output, unsigned graph) {
  llvm::StringRef extension = llvm::sys::path::extension(output);
  return fmt::format("{}-graph{}{}", output.drop_back(extension.size()), graph, extension);
}

int compileGraphs(const Options &options, std::vector<std::string> &written) {
  llvm::Expected<std::optional<CaptureFile>> file = openCapture(options.model);
  if (!file) {
    printError(llvm::toString(file.takeError()));
    return kModelAtFault;
  }
  if (!*file || options.graph)
    return compile(options, written);
  unsigned count = (*file)->capture.graphs.size(), done = 0;
  for (unsigned i = 0; i < count; ++i) {
    Options one = options;
    one.graph = i;
    one.output = outputOfGraph(options.output, i);
    if (!areApart(one))
      return kUsage;
    mlir::DialectRegistry registry;
    registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    Diagnostics diagnostics(&context);
    if (llvm::succeeded(compileModel(one, context, diagnostics, createMeasurer(one)))) {
      ++done;
      written.push_back(one.output);
      continue;
    }
    if (diagnostics.isDefect())
      return diagnostics.printFirst();
    printWarning(fmt::format("graph {} has no library: {}", i, diagnostics.failures().front().line()));
  }
  if (done == 0) {
    printError(fmt::format("{}: none of its {} graphs compiles", options.model, count));
    return kModelAtFault;
  }
  print(llvm::errs(), "ptc: {} of {} graphs compiled, to {} and so on; Python runs what is between them\n", done, count,
        outputOfGraph(options.output, 0));
  return kDone;
}

} // namespace ptc
