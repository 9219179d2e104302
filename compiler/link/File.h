//===- File.h - an open file, written through memory -----------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"

#include <cstdint>
#include <string>

namespace ptc::link {

/// Its errors name the file.
class File {
public:
  /// A file that is there already.
  static llvm::Expected<File> open(llvm::StringRef path);
  File(File &&other);
  ~File();

  /// To `size` bytes, with zeros. Room on the disk is reserved: where there is none, this is the error, and not a
  /// signal when memory is written.
  llvm::Error grow(uint64_t size);
  /// Memory that is the `size` bytes from `begin` on, which divides by 4096. Any thread may write there, at the same
  /// time as others: the system's own calls take turns at a file, with the making of its pages.
  llvm::Expected<llvm::sys::fs::mapped_file_region> map(uint64_t begin, uint64_t size);

private:
  File(int descriptor, llvm::StringRef path) : descriptor(descriptor), path(path) {}
  int descriptor;
  std::string path;
};

} // namespace ptc::link
