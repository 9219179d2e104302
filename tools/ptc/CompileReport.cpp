#include "tools/ptc/CompileReport.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Printed.h"
#include "tools/ptc/Info.h"
#include "tools/ptc/Outputs.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace ptc {

bool CompileReport::isApart(const Options &options) const {
  if (file.empty())
    return true;
  if (!ptc::isApart("--json", file, findModelFiles(options)))
    return false;
  if (file == options.output) {
    printError("command line: --json would overwrite the output (give it another name)");
    return false;
  }
  Error error = checkOutput(file);
  bool isWritable = !error;
  if (error)
    printError(toString(std::move(error)));
  return isWritable;
}

/// Of a file that the compilation has just written.
static json::Object describe(StringRef output) {
  json::Object found;
  if (ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(output, /*IsText=*/false,
                                                                            /*RequiresNullTerminator=*/false)) {
    if (Expected<json::Object> info = readLibraryInfo((*buffer)->getBuffer()))
      found = std::move(*info);
    else
      consumeError(info.takeError()); // what another stage made
    found["file_bytes"] = int64_t((*buffer)->getBufferSize());
  }
  found["file"] = json::fixUTF8(output);
  return found;
}

static json::Array toJson(const std::vector<std::string> &lines) {
  json::Array array;
  for (const std::string &line : lines)
    array.push_back(json::fixUTF8(line));
  return array;
}

int CompileReport::finish(const std::string &model, const std::vector<std::string> &outputs, int status) const {
  if (file.empty())
    return status;
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  json::Array described;
  for (const std::string &output : outputs)
    described.push_back(describe(output));
  json::Object report{{"model", json::fixUTF8(model)},
                      {"status", status},
                      {"seconds", took.count()},
                      {"warnings", toJson(getPrinted().warnings)},
                      {"errors", toJson(getPrinted().errors)},
                      {"outputs", std::move(described)}};
  Error error =
      writeOutputFile(file, [&](raw_ostream &out) { out << formatv("{0:2}", json::Value(std::move(report))) << '\n'; });
  if (!error)
    return status;
  printError(toString(std::move(error)));
  return status == kDone ? int(kModelAtFault) : status;
}

} // namespace ptc
