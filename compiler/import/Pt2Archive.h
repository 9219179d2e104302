//===- Pt2Archive.h - the zip archive that torch.export.save writes --------===//
//
// Entries are named without the archive's root folder: "models/model.json".
// A stored entry is a piece of the mapped file; a deflated one is inflated when
// asked for, into memory that the archive owns.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>
#include <string>
#include <vector>

namespace ptc::import {

class Pt2Archive {
public:
  /// Reads the directory and checks it against the file; no content yet. `hasRoot`: all lies in one folder, which names
  /// leave out.
  static llvm::Expected<std::shared_ptr<Pt2Archive>> open(std::unique_ptr<llvm::MemoryBuffer> file,
                                                          bool hasRoot = true);

  bool contains(llvm::StringRef name) const { return entries.contains(name); }
  /// In the archive's order.
  const std::vector<std::string> &names() const { return order; }

  /// An entry's bytes, alive as long as the archive. Deflated bytes have been
  /// checked against their sum and size; stored ones only if `check`: reading a
  /// weight would bring it into memory, so that is left to `verify`. `used`: how many bytes of a deflated entry the
  /// model has a use for. A small file must not ask for all memory with others.
  llvm::Expected<llvm::ArrayRef<char>> read(llvm::StringRef name, bool check, uint64_t used = 0);

  /// Compares an entry's bytes with their checksum.
  llvm::Error verify(llvm::StringRef name) const;

private:
  struct Entry {
    bool isDeflated = false;
    uint32_t crc = 0;
    uint64_t size = 0;           ///< Of the content.
    llvm::ArrayRef<char> stored; ///< As in the file.
    std::vector<char> inflated;
  };

  llvm::Error readDirectory(bool hasRoot);
  llvm::Error checkOverlap() const;

  std::unique_ptr<llvm::MemoryBuffer> file;
  llvm::StringMap<Entry> entries;
  std::vector<std::string> order;
  uint64_t unused = 0; ///< Bytes that were inflated and have no use.
};

} // namespace ptc::import
