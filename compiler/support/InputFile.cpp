#include "compiler/support/InputFile.h"

#include "compiler/support/Diagnostics.h"

#include "llvm/Support/FileSystem.h"

#include <sys/stat.h>

using namespace llvm;

namespace ptc {

InputFile::InputFile(StringRef path) : name(path) {
  struct stat status;
  if (::stat(name.c_str(), &status) != 0)
    return; // whoever opens it says why
  auto nanoseconds = [](const timespec &time) { return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec; };
  device = status.st_dev;
  number = status.st_ino;
  length = status.st_size;
  written = nanoseconds(status.st_mtim);
}

Error InputFile::check() const {
  InputFile now(name);
  if (now.device == device && now.number == number && now.length == length && now.written == written)
    return Error::success();
  return createStringError(name + ": was changed while it was read (compile it again)");
}

Expected<std::unique_ptr<MemoryBuffer>> openInput(const InputFile &file) {
  StringRef path = file.path();
  // A folder or a device would be read as if it were a file.
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError(path + ": is not a file");
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  watchInput(path, (*buffer)->getBufferSize());
  return std::move(*buffer);
}

} // namespace ptc
