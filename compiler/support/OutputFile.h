//===- OutputFile.h - files that appear whole or not at all ----------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_ostream;
}

namespace ptc {

/// A new, empty file beside `path`, which takes its place when it is complete; where `path` is a link, what it leads to
/// is replaced. Whatever lies there is removed unless committed, after a crash too.
class OutputFile {
public:
  explicit OutputFile(llvm::StringRef path, unsigned permissions = 0666);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;

  /// Where to write until then.
  const std::string &temporary() const { return temporaryPath; }
  llvm::Error commit();

private:
  std::string path, target, temporaryPath;
  std::error_code error;
};

/// An error where no file can be put: in a folder that is not there, or over a device. To be asked before the work.
llvm::Error checkOutput(llvm::StringRef path);

/// A name beside `path` that no other process has, nor one of another machine that shares the folder.
std::string makeTemporaryPath(llvm::StringRef path);

/// Removes what processes that were killed have left in a folder under such names.
void removeStaleFiles(llvm::StringRef folder);

/// As an OutputFile; a device is written to.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace ptc
