#include "tools/ptc/Outputs.h"

#include "compiler/import/Import.h"
#include "compiler/support/Cache.h"
#include "compiler/support/Diagnostics.h"
#include "compiler/support/Format.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace ptc {

bool isApart(llvm::StringRef option, llvm::StringRef output, llvm::ArrayRef<std::string> inputs) {
  for (const std::string &input : inputs) {
    if (output.empty() || input.empty() || !llvm::sys::fs::equivalent(output, input))
      continue;
    printError(fmt::format("command line: {} {} would overwrite {} (give it another name)", option, output,
                           output == input ? "an input" : "the input " + input));
    return false;
  }
  return true;
}

std::vector<std::string> findModelFiles(const Options &options) {
  std::vector<std::string> files = {options.model, options.weights};
  if (llvm::Expected<MappedFile> file = MappedFile::open(options.model))
    llvm::append_range(files, findWeights(options.model, file->content(), {options.weights}));
  else
    llvm::consumeError(file.takeError()); // the import says why
  return files;
}

/// Endings of what ptc does not write.
static bool promisesOther(llvm::StringRef output) {
  return llvm::is_contained({".a", ".lib", ".dll", ".dylib", ".exe"}, llvm::sys::path::extension(output).lower());
}

bool areApart(const Options &options) {
  if (promisesOther(options.output)) {
    printError(fmt::format("command line: --output {}: ptc writes shared libraries of Linux (name it .so), and objects "
                           "with --emit obj",
                           options.output));
    return false;
  }
  std::vector<std::string> inputs = findModelFiles(options);
  inputs.push_back(options.tuningInputs);
  if (!isApart("--tuning-file", options.mode == Mode::MaxAutotune ? options.tuningFile : "", inputs))
    return false;
  inputs.push_back(options.tuningFile);
  if (!isApart("--output", options.output, inputs))
    return false;
  for (unsigned stage = 0; options.saveTemps && stage < unsigned(options.emit); ++stage)
    if (!isApart("--save-temps", getTempPath(options.output, Stage(stage)), inputs))
      return false;
  return true;
}

} // namespace ptc
