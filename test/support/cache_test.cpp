// A cache of limited size.
#include "compiler/support/Cache.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace ptc;

namespace {

/// A folder of entries that were last used one after the other, long ago.
struct Folder {
  Folder() {
    REQUIRE(!llvm::sys::fs::createUniqueDirectory("cache", path));
    auto opened = Cache::open(path);
    REQUIRE(bool(opened));
    cache = std::move(*opened);
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  void store(llvm::StringRef key) {
    cache->store(key, std::string(1000, 'x') + key.str());
    // Whatever is newest is what has just been stored.
    std::error_code error;
    for (llvm::sys::fs::directory_iterator file(path, error), end; !error && file != end; file.increment(error)) {
      struct stat status;
      REQUIRE(!::stat(file->path().c_str(), &status));
      timespec times[2] = {{status.st_mtim.tv_sec - 1000, 0}, {status.st_mtim.tv_sec - 1000, 0}};
      REQUIRE(!::utimensat(AT_FDCWD, file->path().c_str(), times, 0));
    }
  }
  /// Which uses it.
  bool has(llvm::StringRef key) const { return cache->find(key).has_value(); }
  size_t count() const {
    std::error_code error;
    size_t files = 0;
    for (llvm::sys::fs::directory_iterator file(path, error), end; !error && file != end; file.increment(error))
      ++files;
    return files;
  }

  llvm::SmallString<128> path;
  std::optional<Cache> cache;
};

constexpr uint64_t kEntry = 1200; ///< more than an entry takes, and less than one and a half of them

} // namespace

TEST_CASE_METHOD(Folder, "what was used least recently goes first") {
  for (llvm::StringRef key : {"a", "b", "c"})
    store(key);
  cache->trim(3 * kEntry);
  CHECK(count() == 3);
  for (llvm::StringRef key : {"d", "e"})
    store(key);
  CHECK(has("b"));
  cache->trim(3 * kEntry);
  CHECK(count() == 3);
  CHECK((has("b") && has("d") && has("e")));
  CHECK((!has("a") && !has("c")));
}

TEST_CASE_METHOD(Folder, "files that are no entries stay, and count nothing") {
  store("a");
  llvm::SmallString<128> notes = path;
  llvm::sys::path::append(notes, "notes.txt");
  int descriptor = ::open(notes.c_str(), O_WRONLY | O_CREAT, 0666);
  REQUIRE(descriptor >= 0);
  REQUIRE(!::ftruncate(descriptor, 1 << 20));
  ::close(descriptor);
  cache->trim(kEntry);
  CHECK(has("a"));
  cache->trim(0);
  CHECK(!has("a"));
  CHECK(llvm::sys::fs::exists(notes));
}
