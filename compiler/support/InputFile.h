//===- InputFile.h - files that others may write over while they are read --===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>

namespace ptc {

/// A file as it was when it was opened.
class InputFile {
public:
  explicit InputFile(llvm::StringRef path);

  /// An error where another file lies at the path now, or the file was changed.
  llvm::Error check() const;
  const std::string &path() const { return name; }
  uint64_t size() const { return length; }

private:
  std::string name;
  uint64_t device = 0, number = 0, length = 0;
  int64_t written = 0; ///< nanoseconds
};

/// The bytes of a regular file, mapped where they are many; a fault in them names it (watchInput).
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openInput(const InputFile &file);

} // namespace ptc
