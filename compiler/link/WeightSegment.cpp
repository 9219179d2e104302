//===- WeightSegment.cpp --------------------------------------------------===//
//
// The linker lays out an empty `.lbss` as the last part of a writable segment,
// or as one for itself. Here that segment is cut short and the weights become a
// segment of their own. Its program header takes the place of PT_PHDR, which only
// programs need, so that the table keeps its size.
//
//===----------------------------------------------------------------------===//

#include "compiler/link/WeightSegment.h"

#include "compiler/ByteSource.h"
#include "compiler/link/WeightWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>
#include <vector>

using namespace llvm;
using namespace llvm::ELF;

namespace ptc::link {

namespace {
constexpr uint64_t kPage = 4096;
/// By how much the file grows at most when the section moves: headers of segments, which begin on pages of their own.
constexpr uint64_t kGrowth = 4 * kPage;

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

static bool isWeights(const Elf64_Shdr &section) {
  return section.sh_type == SHT_NOBITS && (section.sh_flags & SHF_X86_64_LARGE);
}

uint64_t WeightPiece::size() const { return source ? source->size : bytes.size(); }

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
  if (all_of(weights, [](const WeightPiece &weight) { return weight.size() == 0; }))
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
  auto linked = file->map(0, headers->fileSize);
  if (!linked)
    return linked.takeError();
  copy(asBytes(headers->segments), linked->data() + headers->file.e_phoff);
  copy(asBytes(headers->sections), linked->data() + headers->file.e_shoff);
  return writeWeights(*file, offset, end, weights);
}

} // namespace ptc::link
