//===- MemoryFile.h - a file that only this process sees ------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace ptc::link {

/// Bytes under a path, for code that reads only files. Gone with the object, and with the process, however it ends.
class MemoryFile {
public:
  static llvm::Expected<MemoryFile> create(llvm::StringRef content);
  MemoryFile(MemoryFile &&other);
  ~MemoryFile();

  const std::string &path() const { return name; }

private:
  explicit MemoryFile(int descriptor);
  int descriptor;
  std::string name;
};

} // namespace ptc::link
