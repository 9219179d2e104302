#include "compiler/Pipeline.h"
#include "compiler/explain/Html.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/ParseJson.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Limits.h"
#include "tools/ptc/Outputs.h"
#include "tools/ptc/ProfileFile.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

namespace ptc {

static unsigned getVectorBytes(const Report &report) { return report.vectorBytes; }
static unsigned getVectorBytes(const CaptureReport &report) {
  return report.graphs.empty() ? 0 : report.graphs.front().vectorBytes;
}

template <typename T> static int show(const T &report, const ExplainOptions &options) {
  if (!options.html.empty()) {
    MachineLimits limits = findLimits(options.gigaflops, options.gigabytes, getVectorBytes(report));
    llvm::Error error = writeOutputFile(options.html, [&](llvm::raw_ostream &out) { printHtml(report, limits, out); });
    if (!error)
      return kDone;
    printError(llvm::toString(std::move(error)));
    return kModelAtFault;
  }
  if (options.json) {
    llvm::outs() << llvm::formatv("{0:2}", toJson(report)) << '\n';
  } else {
    PrintableStream out(llvm::outs());
    print(report, out);
  }
  return kDone;
}

static llvm::Error addComparison(const std::string &baseline, Report &report) {
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(baseline);
  if (!buffer)
    return llvm::createStringError(baseline + ": " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> root = parseJson((*buffer)->getBuffer());
  if (!root)
    return llvm::createStringError(
        baseline + ": is no report, which ptc explain --json writes: " + llvm::toString(root.takeError()));
  llvm::Expected<Comparison> comparison = compare(report, *root, baseline);
  if (!comparison)
    return comparison.takeError();
  report.comparison = std::move(*comparison);
  return llvm::Error::success();
}

int explain(const ExplainOptions &options) {
  std::vector<std::string> inputs = findModelFiles(options.compile);
  inputs.push_back(options.profile);
  inputs.push_back(options.baseline);
  if (!options.html.empty() && !isApart("--html", options.html, inputs))
    return kUsage;
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto fail = [](llvm::Error error) {
    printError(llvm::toString(std::move(error)));
    return kModelAtFault;
  };
  llvm::Expected<std::optional<CaptureFile>> capture = openCapture(options.compile.model);
  if (!capture)
    return fail(capture.takeError());
  if (*capture && !options.compile.graph) {
    if (!options.profile.empty())
      return fail(llvm::createStringError("a profile is of one of the capture's graphs (choose it with --graph)"));
    if (!options.baseline.empty())
      return fail(llvm::createStringError("one of the capture's graphs can be compared (choose it with --graph)"));
    return show(explainCapture(std::move(**capture), options.compile, context), options);
  }
  llvm::Expected<Report> report = explainModel(options.compile, context);
  if (!report)
    return fail(report.takeError());
  if (!options.profile.empty()) {
    llvm::Expected<llvm::StringMap<double>> times = readProfile(options.profile);
    if (!times)
      return fail(times.takeError());
    addTimes(*report, *times);
  }
  if (!options.baseline.empty())
    if (llvm::Error error = addComparison(options.baseline, *report))
      return fail(std::move(error));
  return show(*report, options);
}

} // namespace ptc
