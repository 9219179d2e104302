#include "compiler/link/MemoryFile.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace ptc::link {

MemoryFile::MemoryFile(int descriptor)
    : descriptor(descriptor), name("/proc/self/fd/" + std::to_string(descriptor)) {}

MemoryFile::MemoryFile(MemoryFile &&other)
    : descriptor(std::exchange(other.descriptor, -1)), name(std::move(other.name)) {}

MemoryFile::~MemoryFile() {
  if (descriptor >= 0)
    ::close(descriptor);
}

Expected<MemoryFile> MemoryFile::create(StringRef content) {
  MemoryFile file(::memfd_create("ptc", MFD_CLOEXEC));
  bool isGood = file.descriptor >= 0;
  while (isGood && !content.empty()) {
    ssize_t count = ::write(file.descriptor, content.data(), content.size());
    isGood = count > 0 || (count < 0 && errno == EINTR);
    content = content.drop_front(std::max<ssize_t>(count, 0));
  }
  if (!isGood)
    return createStringError("no memory for the linker's input: " + StringRef(std::strerror(errno)));
  return std::move(file);
}

} // namespace ptc::link
