#include "compiler/TuningSession.h"

#include "compiler/Backend.h"
#include "compiler/support/OutputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace ptc {

TuningSession::~TuningSession() {
  if (!folder.empty())
    (void)sys::fs::remove_directories(folder);
}

Error TuningSession::open() {
  if (!options.tuningFile.empty()) {
    Expected<TuningFile> read = TuningFile::read(options.tuningFile);
    if (!read)
      return read.takeError();
    file = std::move(*read);
  }
  if (options.mode != Mode::MaxAutotune)
    return Error::success();
  // Beside the output: there is room for libraries with all weights. A relative path would lie in the temporary folder.
  SmallString<128> beside(options.output);
  std::error_code error = sys::fs::make_absolute(beside);
  folder = makeTemporaryPath(beside);
  if (!error)
    error = sys::fs::create_directory(folder, /*IgnoreExisting=*/false);
  if (error)
    return createStringError("cannot make a folder for tuning: " + error.message());
  Expected<Cache> cache = Cache::open(folder + "/objects");
  if (!cache)
    return cache.takeError();
  objects = std::move(*cache);
  return Error::success();
}

Error TuningSession::run(Pipeline &pipeline, mlir::ModuleOp module, const Target &target) {
  if (options.mode == Mode::MaxAutotune) {
    auto build = [&](mlir::ModuleOp copy, StringRef path) -> Error {
      if (failed(pipeline.lowerForTarget(copy, target)))
        return createStringError("a candidate cannot be compiled");
      return emitCandidate({&target, copy, nullptr}, weights, options, path, &*objects);
    };
    if (Error error = tune(module, target, folder, build, measure, times, file))
      return error;
    if (!options.tuningFile.empty())
      if (Error error = file.write(options.tuningFile))
        return error;
  }
  applyTuning(module, target, file, found);
  return Error::success();
}

std::string TuningSession::warnOfMisfits() const {
  if (found.size() == file.size())
    return "";
  return formatv("{0}: {1} of {2} entries fit no kernel (of this model, for the machines that it is compiled for)",
                 options.tuningFile, file.size() - found.size(), file.size());
}

} // namespace ptc
