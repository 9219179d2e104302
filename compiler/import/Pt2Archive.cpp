//===- Pt2Archive.cpp -----------------------------------------------------===//
//
// minizip finds and decodes the directory; this file gives it the mapped bytes
// to read, and does not believe what it says.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/Pt2Archive.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <minizip/unzip.h>
#include <zlib.h>

using llvm::ArrayRef;
using llvm::StringRef;

namespace ptc::import {
namespace {

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

llvm::Error damaged(StringRef name) {
  return fail("entry '" + name + "' does not match its checksum (the file is damaged)");
}

/// A file of minizip's: a position in the mapped bytes.
struct Cursor {
  ArrayRef<char> bytes;
  uint64_t position = 0;
};

zlib_filefunc64_def cursorFunctions(Cursor &cursor) {
  zlib_filefunc64_def f = {};
  f.opaque = &cursor;
  f.zopen64_file = [](voidpf opaque, const void *, int) -> voidpf { return opaque; };
  f.zread_file = [](voidpf, voidpf stream, void *to, uLong size) -> uLong {
    auto &c = *static_cast<Cursor *>(stream);
    uint64_t count = std::min<uint64_t>(size, c.bytes.size() - c.position);
    std::copy_n(c.bytes.data() + c.position, count, static_cast<char *>(to));
    c.position += count;
    return count;
  };
  f.zwrite_file = [](voidpf, voidpf, const void *, uLong) -> uLong { return 0; };
  f.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T { return static_cast<Cursor *>(stream)->position; };
  f.zseek64_file = [](voidpf, voidpf stream, ZPOS64_T offset, int origin) -> long {
    auto &c = *static_cast<Cursor *>(stream);
    uint64_t base = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                    : origin == ZLIB_FILEFUNC_SEEK_CUR ? c.position
                                                       : c.bytes.size();
    if (offset > c.bytes.size() - base)
      return -1;
    c.position = base + offset;
    return 0;
  };
  f.zclose_file = [](voidpf, voidpf) { return 0; };
  f.zerror_file = [](voidpf, voidpf) { return 0; };
  return f;
}

uint32_t checksum(ArrayRef<char> bytes) {
  return crc32_z(0, reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
}

llvm::Expected<std::vector<char>> inflateRaw(StringRef name, ArrayRef<char> packed, uint64_t size) {
  // Deflate gains at most a factor of 1032: a larger claim is a lie, found
  // before any memory is spent on it.
  if (size / 1032 > packed.size() + 1)
    return fail("entry '" + name + "' claims an impossible size of " + llvm::Twine(size) + " bytes");
  std::vector<char> bytes(size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail("cannot start to inflate '" + name + "'");
  llvm::scope_exit end([&] { inflateEnd(&stream); });
  // zlib counts in 32 bits, so both sides are handed over in pieces.
  constexpr uint64_t kPiece = 1u << 30;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef *>(bytes.data());
  uint64_t left = packed.size(), room = size;
  int status = Z_OK;
  while (status == Z_OK) {
    uint64_t in = std::min(left, kPiece), out = std::min(room, kPiece);
    stream.avail_in = in;
    stream.avail_out = out;
    status = inflate(&stream, Z_NO_FLUSH);
    left -= in - stream.avail_in;
    room -= out - stream.avail_out;
    if (status == Z_OK && in == stream.avail_in && out == stream.avail_out)
      break;
  }
  if (status != Z_STREAM_END || room != 0)
    return fail("entry '" + name + "' does not inflate to its " + llvm::Twine(size) + " bytes");
  return bytes;
}

} // namespace

llvm::Expected<std::shared_ptr<Pt2Archive>> Pt2Archive::open(std::unique_ptr<llvm::MemoryBuffer> file, bool hasRoot) {
  auto archive = std::make_shared<Pt2Archive>();
  archive->file = std::move(file);
  if (llvm::Error error = archive->readDirectory(hasRoot))
    return error;
  if (llvm::Error error = archive->checkOverlap())
    return error;
  return archive;
}

llvm::Error Pt2Archive::readDirectory(bool hasRoot) {
  ArrayRef<char> bytes(file->getBufferStart(), file->getBufferSize());
  Cursor cursor{bytes};
  zlib_filefunc64_def functions = cursorFunctions(cursor);
  unzFile zip = unzOpen2_64(nullptr, &functions);
  if (!zip)
    return fail("the zip archive has no directory at its end (is the file cut off?)");
  llvm::scope_exit close([&] { unzClose(zip); });

  std::string buffer(size_t(UINT16_MAX) + 1, '\0');
  int status = unzGoToFirstFile(zip);
  for (; status == UNZ_OK; status = unzGoToNextFile(zip)) {
    unz_file_info64 info;
    if (unzGetCurrentFileInfo64(zip, &info, buffer.data(), buffer.size(), nullptr, 0, nullptr, 0) != UNZ_OK)
      return fail("the zip archive's directory is damaged");
    std::string path = buffer.substr(0, info.size_filename);
    if (info.flag & 1)
      return fail("entry '" + path + "' is encrypted");
    bool isDeflated = info.compression_method == Z_DEFLATED;
    if (!isDeflated && info.compression_method != 0)
      return fail("entry '" + path + "' is compressed in a way that torch does not use");
    if (!isDeflated && info.compressed_size != info.uncompressed_size)
      return fail("entry '" + path + "' is stored, but its two sizes differ");
    // Opening compares the entry's own header with the directory.
    if (unzOpenCurrentFile2(zip, nullptr, nullptr, /*raw=*/1) != UNZ_OK)
      return fail("entry '" + path + "' has a header that contradicts the directory");
    uint64_t offset = unzGetCurrentFileZStreamPos64(zip);
    unzCloseCurrentFile(zip);
    if (offset > bytes.size() || info.compressed_size > bytes.size() - offset)
      return fail("entry '" + path + "' reaches beyond the end of the file");

    StringRef name = StringRef(path).substr(hasRoot ? path.find('/') + 1 : 0);
    Entry entry;
    entry.isDeflated = isDeflated;
    entry.crc = info.crc;
    entry.size = info.uncompressed_size;
    entry.stored = bytes.slice(offset, info.compressed_size);
    if (!entries.try_emplace(name, std::move(entry)).second)
      return fail("entry '" + path + "' occurs twice");
    order.push_back(name.str());
  }
  return status == UNZ_END_OF_LIST_OF_FILE ? llvm::Error::success() : fail("the zip archive's directory is damaged");
}

/// Entries that share bytes could inflate without bound.
llvm::Error Pt2Archive::checkOverlap() const {
  std::vector<ArrayRef<char>> ranges;
  for (const auto &entry : entries)
    if (!entry.second.stored.empty())
      ranges.push_back(entry.second.stored);
  llvm::sort(ranges, [](auto a, auto b) { return a.data() < b.data(); });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].end() > ranges[i].begin())
      return fail("entries of the zip archive overlap");
  return llvm::Error::success();
}

llvm::Error Pt2Archive::verify(StringRef name) const {
  auto found = entries.find(name);
  if (found == entries.end())
    return fail("the archive has no '" + name + "'");
  const Entry &entry = found->second;
  // Inflating has compared already, and what nobody inflated nobody uses.
  if (!entry.isDeflated && checksum(entry.stored) != entry.crc)
    return damaged(name);
  return llvm::Error::success();
}

llvm::Expected<ArrayRef<char>> Pt2Archive::read(StringRef name, bool check, uint64_t used) {
  constexpr uint64_t kAlwaysAllowed = 64 << 20;
  auto found = entries.find(name);
  if (found == entries.end())
    return fail("the archive has no '" + name + "'");
  Entry &entry = found->second;
  bool isNew = entry.isDeflated && entry.inflated.size() != entry.size;
  if (isNew) {
    unused += entry.size - std::min(entry.size, used);
    if (unused > std::max<uint64_t>(kAlwaysAllowed, file->getBufferSize()))
      return fail("entry '" + name + "' inflates to " + llvm::Twine(entry.size) + " bytes, of which the model uses " +
                  llvm::Twine(std::min(entry.size, used)));
    auto bytes = inflateRaw(name, entry.stored, entry.size);
    if (!bytes)
      return bytes.takeError();
    if (checksum(*bytes) != entry.crc)
      return damaged(name);
    entry.inflated = std::move(*bytes);
  }
  if (check)
    if (llvm::Error error = verify(name))
      return error;
  return entry.isDeflated ? ArrayRef<char>(entry.inflated) : entry.stored;
}

} // namespace ptc::import
