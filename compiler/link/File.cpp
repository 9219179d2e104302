#include "compiler/link/File.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace ptc::link {

Expected<File> File::open(StringRef path) {
  int descriptor = -1;
  std::error_code error =
      sys::fs::openFileForReadWrite(path, descriptor, sys::fs::CD_OpenExisting, sys::fs::OF_None);
  if (error)
    return createStringError(error, path + ": " + error.message() + " (cannot write the output)");
  return File(descriptor, path);
}

File::File(File &&other) : descriptor(std::exchange(other.descriptor, -1)), path(std::move(other.path)) {}

File::~File() {
  if (descriptor >= 0)
    ::close(descriptor);
}

static Error cannotWrite(StringRef path, std::error_code error) {
  return createStringError(error, path + ": " + error.message() + " (cannot write the weights)");
}

Error File::grow(uint64_t size) {
  int error;
  do
    error = ::posix_fallocate(descriptor, 0, size);
  while (error == EINTR);
  return error ? cannotWrite(path, std::error_code(error, std::generic_category())) : Error::success();
}

Expected<sys::fs::mapped_file_region> File::map(uint64_t begin, uint64_t size) {
  std::error_code error;
  sys::fs::mapped_file_region region(sys::fs::convertFDToNativeFile(descriptor),
                                     sys::fs::mapped_file_region::readwrite, size, begin, error);
  if (error)
    return cannotWrite(path, error);
  ::madvise(region.data(), region.size(), MADV_HUGEPAGE); // a wish: how the file's cache is made
  return region;
}

} // namespace ptc::link
