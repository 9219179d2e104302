//===- OutputFile.h - files that appear whole or not at all ----------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_ostream;
}

namespace ptc {

/// A name beside `path`, for a file that takes its place when it is complete.
/// Whatever lies there is removed unless committed, after a crash too.
class OutputFile {
public:
  explicit OutputFile(llvm::StringRef path);
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;

  /// Where to write until then.
  const std::string &temporary() const { return temporaryPath; }
  llvm::Error commit();

private:
  std::string path, temporaryPath;
};

llvm::Error writeOutputFile(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace ptc
