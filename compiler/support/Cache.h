//===- Cache.h - results that outlive the compiler -------------------------===//
//
// A folder of files. A file's name is the hash of all that decides its content,
// the build of ptc included, and the file says it again: whoever finds a file
// finds what it would have made.
// So nothing is ever out of date, compilers may share a folder, and any file may
// be deleted at any time; a file's time of change is when it was last of use. There are two kinds: the object of one
// kernel (codegen/cpu), which survives edits of the model, and a whole library (Compile.cpp), which saves reading and
// writing the weights in other orders.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ptc {

/// Bytes that may come from a file.
class MappedFile {
public:
  explicit MappedFile(llvm::StringRef content) : text(content) {}
  static llvm::Expected<MappedFile> open(llvm::StringRef path);
  MappedFile(MappedFile &&other)
      : descriptor(std::exchange(other.descriptor, -1)), buffer(std::move(other.buffer)), text(other.text) {}
  MappedFile &operator=(MappedFile &&other) {
    std::swap(descriptor, other.descriptor);
    std::swap(buffer, other.buffer);
    std::swap(text, other.text);
    return *this;
  }
  ~MappedFile();

  llvm::StringRef content() const { return text; }
  /// Writes it, and what `suffix` says, to a file with these permissions. Bytes that are in a file pass from there to
  /// the other without being read, or are even shared, where the system can.
  llvm::Error copyTo(llvm::StringRef path, unsigned permissions, llvm::StringRef suffix = "") const;
  void dropBack(size_t count) { text = text.drop_back(count); }

private:
  int descriptor = -1;
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::StringRef text; ///< the file from its beginning
};

class Cache {
public:
  /// Makes the folder if there is none.
  static llvm::Expected<Cache> open(llvm::StringRef folder);

  /// None as well if what is there is damaged, or was stored under another key.
  std::optional<MappedFile> find(llvm::StringRef key) const;
  /// The file appears whole or not at all. Where it cannot be written a warning says so: the next compiler takes
  /// longer.
  void store(llvm::StringRef key, const MappedFile &file) const;
  void store(llvm::StringRef key, llvm::StringRef content) const;
  /// Removes what was found or stored least recently, until the entries take `mostBytes` at most. Other files in the
  /// folder stay.
  void trim(uint64_t mostBytes) const;

private:
  Cache(std::string folder, std::string build) : folder(std::move(folder)), build(std::move(build)) {}
  std::string getName(llvm::StringRef key) const;
  std::string getPath(llvm::StringRef name) const;

  std::string folder;
  std::string build; ///< of the running program
};

/// Of some texts, one after the other, as 64 hexadecimal digits. Large ones on all cores.
std::string hashTexts(llvm::ArrayRef<llvm::StringRef> texts);

} // namespace ptc
