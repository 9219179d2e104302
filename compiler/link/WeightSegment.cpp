//===- WeightSegment.cpp --------------------------------------------------===//
//
// The linker lays out an empty `.lbss` as the last part of a writable segment,
// or as one for itself. Here that segment is cut short and the weights become a
// segment of their own. Its program header takes the place of PT_PHDR, which only
// programs need, so that the table keeps its size.
//
//===----------------------------------------------------------------------===//

#include "compiler/link/WeightSegment.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::ELF;

namespace ptc::link {

namespace {
constexpr uint64_t kPage = 4096;
/// Linux maps a file by pages of this size where its own cache of the file is made of them and addresses allow it:
/// fewer entries in the TLB, and weights that do not meet by chance in the sets of a cache.
constexpr uint64_t kHugePage = 2 << 20;
/// By how much the file grows at most when the section moves: headers of segments, which begin on pages of their own.
constexpr uint64_t kGrowth = 4 * kPage;

/// An open file; pwrite until all is written.
class File {
public:
  static Expected<File> open(StringRef path) {
    int descriptor = -1;
    if (std::error_code error =
            sys::fs::openFileForReadWrite(path, descriptor, sys::fs::CD_OpenExisting, sys::fs::OF_None))
      return createStringError(error, path + ": " + error.message() + " (cannot write the output)");
    return File(descriptor, path);
  }
  File(File &&other) : descriptor(std::exchange(other.descriptor, -1)), path(other.path) {}
  ~File() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  Error write(uint64_t offset, ArrayRef<char> bytes) {
    iovec part = {const_cast<char *>(bytes.data()), bytes.size()};
    return write(offset, MutableArrayRef(part));
  }

  /// One after the other, in as few writes as there can be: what one write covers is cached by large pages.
  Error write(uint64_t offset, MutableArrayRef<iovec> parts) {
    while (!parts.empty()) {
      ssize_t count = ::pwritev(descriptor, parts.data(), std::min<size_t>(parts.size(), IOV_MAX), offset);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 || (count == 0 && parts.front().iov_len > 0))
        return createStringError(path + ": " + StringRef(std::strerror(errno)) + " (cannot write the weights)");
      offset += count;
      size_t done = count;
      for (; !parts.empty() && parts.front().iov_len <= done; parts = parts.drop_front())
        done -= parts.front().iov_len;
      if (done > 0)
        parts.front() = {static_cast<char *>(parts.front().iov_base) + done, parts.front().iov_len - done};
    }
    return Error::success();
  }

  Error resize(uint64_t size) {
    if (::ftruncate(descriptor, size) != 0)
      return createStringError(path + ": " + StringRef(std::strerror(errno)) + " (cannot write the weights)");
    return Error::success();
  }

private:
  File(int descriptor, StringRef path) : descriptor(descriptor), path(path) {}
  int descriptor;
  std::string path;
};

/// The headers of the linked file, in memory: small.
struct Headers {
  Elf64_Ehdr file;
  std::vector<Elf64_Phdr> segments;
  std::vector<Elf64_Shdr> sections;
  uint64_t fileSize;
};
} // namespace

template <typename T> static ArrayRef<char> asBytes(const std::vector<T> &items) {
  return ArrayRef(reinterpret_cast<const char *>(items.data()), items.size() * sizeof(T));
}

static Expected<Headers> readHeaders(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), path + ": " + buffer.getError().message());
  StringRef content = (*buffer)->getBuffer();
  Headers headers;
  headers.fileSize = content.size();
  std::memcpy(&headers.file, content.data(), sizeof(headers.file));
  headers.segments.resize(headers.file.e_phnum);
  std::memcpy(headers.segments.data(), content.data() + headers.file.e_phoff, asBytes(headers.segments).size());
  headers.sections.resize(headers.file.e_shnum);
  std::memcpy(headers.sections.data(), content.data() + headers.file.e_shoff, asBytes(headers.sections).size());
  return headers;
}

/// Cuts the weights off the segment that ends with them, and describes them as one of their own.
static Error splitSegment(Headers &headers, Elf64_Shdr &section, uint64_t offset) {
  auto holds = [&](const Elf64_Phdr &segment) {
    return segment.p_type == PT_LOAD && segment.p_vaddr + segment.p_memsz == section.sh_addr + section.sh_size;
  };
  auto last = find_if(headers.segments, holds);
  if (last == headers.segments.end() || headers.segments.front().p_type != PT_PHDR)
    return createStringError("the linker placed the weights where they were not expected");
  Elf64_Phdr weights = {};
  weights.p_type = PT_LOAD;
  weights.p_flags = PF_R;
  weights.p_offset = offset;
  weights.p_vaddr = weights.p_paddr = section.sh_addr;
  weights.p_filesz = weights.p_memsz = section.sh_size;
  weights.p_align = offset % kHugePage == section.sh_addr % kHugePage ? kHugePage : kPage;

  last->p_memsz = std::max(section.sh_addr > last->p_vaddr ? section.sh_addr - last->p_vaddr : 0, last->p_filesz);
  if (last->p_memsz == 0) { // it held nothing else
    *last = weights;
  } else {
    headers.segments.insert(last + 1, weights);
    headers.segments.erase(headers.segments.begin());
  }
  section.sh_type = SHT_PROGBITS;
  section.sh_flags &= ~static_cast<uint64_t>(SHF_WRITE);
  section.sh_offset = offset;
  return Error::success();
}

/// All weights, each of which begins at a multiple of an alignment, with zeros between them.
static Error writeWeights(File &file, uint64_t offset, uint64_t end, ArrayRef<WeightPiece> weights) {
  static char zeros[kPage];
  std::vector<iovec> parts;
  uint64_t place = 0;
  for (const WeightPiece &weight : weights) {
    if (weight.offset < place || weight.offset > end || weight.bytes.size() > end - weight.offset)
      return createStringError("a weight lies outside of the weights");
    for (; place < weight.offset; place += parts.back().iov_len)
      parts.push_back({zeros, std::min<size_t>(sizeof(zeros), weight.offset - place)});
    parts.push_back({const_cast<char *>(weight.bytes.data()), weight.bytes.size()});
    place += weight.bytes.size();
  }
  return file.write(offset, parts);
}

static bool isWeights(const Elf64_Shdr &section) {
  return section.sh_type == SHT_NOBITS && (section.sh_flags & SHF_X86_64_LARGE);
}

Expected<std::optional<uint64_t>> findWeightsAddress(StringRef path) {
  Expected<Headers> headers = readHeaders(path);
  if (!headers)
    return headers.takeError();
  auto section = find_if(headers->sections, isWeights);
  if (section == headers->sections.end() || section->sh_size < 2 * kHugePage)
    return std::nullopt;
  return alignTo(section->sh_addr, kHugePage) + alignTo(headers->fileSize + kGrowth, kPage) % kHugePage;
}

Error appendWeights(StringRef path, ArrayRef<WeightPiece> weights) {
  if (all_of(weights, [](const WeightPiece &weight) { return weight.bytes.empty(); }))
    return Error::success();
  Expected<Headers> headers = readHeaders(path);
  if (!headers)
    return headers.takeError();
  auto section = find_if(headers->sections, isWeights);
  if (section == headers->sections.end())
    return createStringError("the objects have weights but no place for them");
  uint64_t offset = alignTo(headers->fileSize, kPage), end = section->sh_size;
  if (uint64_t gap = (section->sh_addr - offset) % kHugePage; gap <= kGrowth)
    offset += gap;
  if (Error error = splitSegment(*headers, *section, offset))
    return error;

  Expected<File> file = File::open(path);
  if (!file)
    return file.takeError();
  if (Error error = file->resize(offset + end)) // gaps between weights are zeros
    return error;
  if (Error error = file->write(headers->file.e_phoff, asBytes(headers->segments)))
    return error;
  if (Error error = file->write(headers->file.e_shoff, asBytes(headers->sections)))
    return error;
  return writeWeights(*file, offset, end, weights);
}

} // namespace ptc::link
