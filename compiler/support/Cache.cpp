#include "compiler/support/Cache.h"

#include "compiler/support/Diagnostics.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Threads.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace llvm;

namespace ptc {

/// A file is what was stored, its name, its hash, and this.
static constexpr StringLiteral kMagic = "ptc-cache-2\n";
static constexpr size_t kHashLength = 64;

static std::string hashPiece(StringRef piece) {
  BLAKE3 hasher;
  hasher.update(piece);
  return toStringRef(hasher.final()).str();
}

std::string hashTexts(ArrayRef<StringRef> texts) {
  // The hash of the hashes of pieces of one size: the same for any number of threads.
  constexpr size_t kPiece = 4 << 20;
  std::vector<StringRef> pieces;
  for (StringRef text : texts) {
    for (; text.size() > kPiece; text = text.drop_front(kPiece))
      pieces.push_back(text.take_front(kPiece));
    pieces.push_back(text); // shorter than the others, so that texts cannot run into each other
  }
  std::vector<std::string> hashes(pieces.size());
  std::atomic<size_t> next = 0;
  auto run = [&] {
    for (size_t i; (i = next++) < pieces.size();)
      hashes[i] = hashPiece(pieces[i]);
  };
  runOnThreads(pieces.size() > texts.size() + 1 ? pieces.size() : 1, run);
  std::string all;
  for (auto [piece, hash] : zip(pieces, hashes))
    all += hash + (piece.size() == kPiece ? "+" : ".");
  return toHex(hashPiece(all), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// The build
//===----------------------------------------------------------------------===//

/// The NT_GNU_BUILD_ID among a program's notes; empty if it is not there.
static std::string findBuildId(const char *notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    size_t name = alignTo(note.n_namesz, 4), length = sizeof note + name + alignTo(note.n_descsz, 4);
    if (length > size)
      break;
    if (note.n_type == NT_GNU_BUILD_ID && StringRef(notes + sizeof note, note.n_namesz) == StringRef("GNU\0", 4))
      return toHex(StringRef(notes + sizeof note + name, note.n_descsz));
    notes += length;
    size -= length;
  }
  return "";
}

/// The linker's hash of the running program: two that differ in anything differ in it.
static std::string getBuildId() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *result) {
        auto &id = *static_cast<std::string *>(result);
        for (const auto &segment : ArrayRef(info->dlpi_phdr, info->dlpi_phnum))
          if (segment.p_type == PT_NOTE && id.empty())
            id = findBuildId(reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
        return 1; // the program is the first; libraries do not matter
      },
      &id);
  return id;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<MappedFile> MappedFile::open(StringRef path) {
  MappedFile file("");
  auto fail = [&](std::error_code error) { return createStringError(error, path + ": " + error.message()); };
  // A FIFO would be waited for.
  file.descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.descriptor < 0)
    return fail(std::error_code(errno, std::generic_category()));
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(file.descriptor, status))
    return fail(error);
  if (!sys::fs::is_regular_file(status))
    return createStringError(path + ": is not a file");
  auto buffer = MemoryBuffer::getOpenFile(file.descriptor, path, status.getSize(), /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail(buffer.getError());
  file.buffer = std::move(*buffer);
  file.text = file.buffer->getBuffer();
  return std::move(file);
}

MappedFile::~MappedFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

static bool writeAll(int to, StringRef content) {
  while (!content.empty()) {
    ssize_t count = ::write(to, content.data(), content.size());
    if (count <= 0 && errno != EINTR)
      return false;
    content = content.drop_front(std::max<ssize_t>(count, 0));
  }
  return true;
}

Error MappedFile::copyTo(StringRef path, unsigned permissions, StringRef suffix) const {
  OutputFile output(path, permissions);
  int to = ::open(output.temporary().c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  off64_t done = 0;
  while (to >= 0 && descriptor >= 0 && done < off64_t(text.size()))
    if (::copy_file_range(descriptor, &done, to, nullptr, text.size() - done, 0) <= 0)
      break; // some file systems cannot
  bool isWritten = to >= 0 && writeAll(to, text.drop_front(done)) && writeAll(to, suffix);
  std::error_code error(errno, std::generic_category());
  if (to >= 0)
    ::close(to);
  if (!isWritten)
    return createStringError(error, path + ": " + error.message() + " (cannot write the output)");
  return output.commit();
}

//===----------------------------------------------------------------------===//
// The folder
//===----------------------------------------------------------------------===//

Expected<Cache> Cache::open(StringRef folder) {
  std::error_code error = sys::fs::create_directories(folder, /*IgnoreExisting=*/true, sys::fs::all_all);
  if (!error && !sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return createStringError(error, folder + ": " + error.message() + " (cannot make the cache's folder)");
  std::string id = getBuildId();
  if (id.empty())
    return createStringError("this ptc was linked without a build id, by which a cache tells versions of ptc apart");
  removeStaleFiles(folder);
  return Cache(folder.str(), id + " LLVM " LLVM_VERSION_STRING);
}

std::string Cache::getName(StringRef key) const { return hashTexts({build, key}); }

std::string Cache::getPath(StringRef name) const {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

std::optional<MappedFile> Cache::find(StringRef key) const {
  std::string name = getName(key);
  Expected<MappedFile> file = MappedFile::open(getPath(name));
  if (!file) {
    consumeError(file.takeError());
    return std::nullopt;
  }
  StringRef all = file->content();
  if (!all.consume_back(kMagic) || all.size() < 2 * kHashLength)
    return std::nullopt;
  StringRef hash = all.take_back(kHashLength);
  // Who copies files about may give one another's name.
  if (all.drop_back(kHashLength).take_back(kHashLength) != name)
    return std::nullopt;
  file->dropBack(kMagic.size() + 2 * kHashLength);
  if (hashTexts(file->content()) != hash)
    return std::nullopt;
  (void)::utimensat(AT_FDCWD, getPath(name).c_str(), nullptr, 0); // of another user's it may fail
  return std::move(*file);
}

void Cache::trim(uint64_t mostBytes) const {
  struct Entry {
    sys::TimePoint<> lastUse;
    uint64_t bytes;
    std::string path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (sys::fs::directory_iterator file(folder, error, /*follow_symlinks=*/false), end; !error && file != end;
       file.increment(error)) {
    StringRef name = sys::path::filename(file->path());
    bool isEntry = name.size() == kHashLength && all_of(name, [](char c) { return hexDigitValue(c) < 16; });
    ErrorOr<sys::fs::basic_file_status> status = isEntry ? file->status() : std::errc::invalid_argument;
    if (!status || status->type() != sys::fs::file_type::regular_file)
      continue;
    entries.push_back({status->getLastModificationTime(), status->getSize(), file->path()});
    total += status->getSize();
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.lastUse < b.lastUse; });
  for (const Entry &entry : entries) {
    if (total <= mostBytes)
      return;
    // Another compiler may have been faster.
    (void)sys::fs::remove(entry.path);
    total -= entry.bytes;
  }
}

void Cache::store(StringRef key, const MappedFile &file) const {
  std::string name = getName(key);
  if (Error error = file.copyTo(getPath(name), 0666, name + hashTexts(file.content()) + kMagic.str()))
    printWarning("cache: " + toString(std::move(error)));
}

void Cache::store(StringRef key, StringRef content) const { store(key, MappedFile(content)); }

} // namespace ptc
