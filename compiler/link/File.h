//===- File.h - an open file, written at places ----------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <sys/uio.h>

namespace ptc::link {

/// Its errors name the file. Threads may write at once.
class File {
public:
  /// A file that is there already.
  static llvm::Expected<File> open(llvm::StringRef path);
  File(File &&other);
  ~File();

  llvm::Error resize(uint64_t size);
  llvm::Error write(uint64_t offset, llvm::ArrayRef<char> bytes);
  /// One after the other, in as few writes as there can be: what one write covers is cached by large pages. Changes
  /// `parts`.
  llvm::Error write(uint64_t offset, llvm::MutableArrayRef<iovec> parts);

private:
  File(int descriptor, llvm::StringRef path) : descriptor(descriptor), path(path) {}
  int descriptor;
  std::string path;
};

} // namespace ptc::link
