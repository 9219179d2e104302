//===- File.cpp -----------------------------------------------------------===//

#include "compiler/link/File.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <climits>
#include <cstring>
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

static Error cannotWrite(StringRef path) {
  return createStringError(path + ": " + StringRef(std::strerror(errno)) + " (cannot write the weights)");
}

Error File::resize(uint64_t size) {
  return ::ftruncate(descriptor, size) == 0 ? Error::success() : cannotWrite(path);
}

Error File::write(uint64_t offset, ArrayRef<char> bytes) {
  iovec part = {const_cast<char *>(bytes.data()), bytes.size()};
  return write(offset, MutableArrayRef(part));
}

Error File::write(uint64_t offset, MutableArrayRef<iovec> parts) {
  while (!parts.empty()) {
    ssize_t count = ::pwritev(descriptor, parts.data(), std::min<size_t>(parts.size(), IOV_MAX), offset);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 || (count == 0 && parts.front().iov_len > 0))
      return cannotWrite(path);
    offset += count;
    size_t done = count;
    for (; !parts.empty() && parts.front().iov_len <= done; parts = parts.drop_front())
      done -= parts.front().iov_len;
    if (done > 0)
      parts.front() = {static_cast<char *>(parts.front().iov_base) + done, parts.front().iov_len - done};
  }
  return Error::success();
}

} // namespace ptc::link
