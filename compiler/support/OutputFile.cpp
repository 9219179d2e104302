#include "compiler/support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <random>
#include <unistd.h>

using namespace llvm;

namespace ptc {

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// NAME.ptc-WHERE-PROCESS-RANDOM.tmp
static constexpr StringLiteral kMark = ".ptc-", kEnding = ".tmp";
/// Nobody writes for so long without a change to the file.
static constexpr std::chrono::hours kStale(1);

/// Within what a process id means one process: a running system, and a container of it.
static StringRef getWhere() {
  static const std::string where = [] {
    std::string text;
    if (auto boot = MemoryBuffer::getFileAsStream("/proc/sys/kernel/random/boot_id"))
      text = (*boot)->getBuffer().str();
    char space[64];
    if (ssize_t length = ::readlink("/proc/self/ns/pid", space, sizeof space); length > 0)
      text.append(space, length);
    return utohexstr(xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
  }();
  return where;
}

std::string makeTemporaryPath(StringRef path) {
  // Names have a limit of 255 bytes.
  StringRef name = sys::path::filename(path).take_front(180);
  std::random_device random;
  SmallString<128> result(sys::path::parent_path(path));
  sys::path::append(result, name + kMark + getWhere() + "-" + Twine(sys::Process::getProcessId()) + "-" +
                                utohexstr(random(), /*LowerCase=*/true, /*Width=*/8) + kEnding);
  return result.str().str();
}

/// Whether a temporary file's process has ended; of another machine's only its age tells.
static bool isStale(StringRef path) {
  StringRef name = sys::path::filename(path);
  size_t mark = name.rfind(kMark);
  if (mark == StringRef::npos || !name.consume_back(kEnding))
    return false;
  auto [where, rest] = name.drop_front(mark + kMark.size()).split('-');
  pid_t process;
  if (where.size() != 16 || rest.split('-').first.getAsInteger(10, process) || process <= 0)
    return false;
  if (where == getWhere() && ::kill(process, 0) != 0 && errno == ESRCH)
    return true;
  sys::fs::file_status status;
  return !sys::fs::status(path, status, /*follow=*/false) &&
         std::chrono::system_clock::now() - status.getLastModificationTime() > kStale;
}

void removeStaleFiles(StringRef folder) {
  std::error_code error;
  sys::fs::directory_iterator end;
  for (sys::fs::directory_iterator entry(folder.empty() ? "." : folder, error, /*follow_symlinks=*/false);
       !error && entry != end; entry.increment(error))
    if (isStale(entry->path()))
      (void)sys::fs::remove_directories(entry->path());
}

//===----------------------------------------------------------------------===//
// Where files are put
//===----------------------------------------------------------------------===//

/// What `path` leads to; that need not be there.
static std::string followLinks(StringRef path) {
  constexpr int kMostLinks = 40;
  SmallString<128> place(path);
  for (int i = 0; i < kMostLinks && sys::fs::is_symlink_file(place); ++i) {
    char text[4096];
    ssize_t length = ::readlink(place.c_str(), text, sizeof text);
    if (length < 0)
      break;
    StringRef target(text, length);
    if (!sys::path::is_absolute(target))
      sys::path::remove_filename(place);
    else
      place.clear();
    sys::path::append(place, target);
  }
  return place.str().str();
}

static Error cannotWrite(StringRef path, const Twine &why) {
  return createStringError(path + ": " + why + " (cannot write the output)");
}

/// A device such as /dev/stdout, or a FIFO: no file can take its place.
static bool isDevice(StringRef path) {
  sys::fs::file_status status;
  return !sys::fs::status(path, status) && sys::fs::exists(status) && !sys::fs::is_regular_file(status) &&
         !sys::fs::is_directory(status);
}

Error checkOutput(StringRef path) {
  std::string target = followLinks(path);
  if (isDevice(target))
    return cannotWrite(path, "is no file, and would be replaced by one");
  if (sys::fs::is_directory(target))
    return cannotWrite(path, std::make_error_code(std::errc::is_a_directory).message());
  StringRef folder = sys::path::parent_path(target);
  sys::fs::file_status status;
  std::error_code error = sys::fs::status(folder.empty() ? "." : folder, status);
  if (!error && !sys::fs::is_directory(status))
    error = std::make_error_code(std::errc::not_a_directory);
  return error ? cannotWrite(path, folder + ": " + error.message()) : Error::success();
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

OutputFile::OutputFile(StringRef path, unsigned permissions)
    : path(path), target(followLinks(path)), temporaryPath(makeTemporaryPath(target)) {
  sys::RemoveFileOnSignal(temporaryPath);
  int file = ::open(temporaryPath.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
  if (file < 0)
    error = std::error_code(errno, std::generic_category());
  else
    ::close(file);
}

OutputFile::~OutputFile() {
  (void)sys::fs::remove(temporaryPath);
  sys::DontRemoveFileOnSignal(temporaryPath);
}

Error OutputFile::commit() {
  if (error)
    return cannotWrite(path, error.message());
  if (isDevice(target))
    return cannotWrite(path, "is no file, and would be replaced by one");
  if (std::error_code failure = sys::fs::rename(temporaryPath, target))
    return cannotWrite(path, failure.message());
  return Error::success();
}

static std::error_code writeTo(StringRef path, function_ref<void(raw_ostream &)> write) {
  std::error_code error;
  raw_fd_ostream stream(path, error);
  if (error)
    return error;
  write(stream);
  stream.close();
  error = stream.error();
  stream.clear_error();
  return error;
}

Error writeOutputFile(StringRef path, function_ref<void(raw_ostream &)> write) {
  if (isDevice(path)) {
    std::error_code error = writeTo(path, write);
    return error ? cannotWrite(path, error.message()) : Error::success();
  }
  OutputFile file(path);
  if (std::error_code error = writeTo(file.temporary(), write))
    return cannotWrite(path, error.message());
  return file.commit();
}

} // namespace ptc
