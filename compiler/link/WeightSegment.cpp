//===- WeightSegment.cpp --------------------------------------------------===//
//
// The linker lays out an empty `.lbss` as the last part of a writable segment,
// or as one for itself. Here that segment is cut short and the weights become a
// segment of their own. The table of segments moves behind them, to the file's
// end, and leaves its place to the seal (runtime/Seal.h).
//
//===----------------------------------------------------------------------===//

#include "compiler/link/WeightSegment.h"

#include "compiler/link/WeightWriter.h"
#include "compiler/weights/ByteSource.h"
#include "runtime/Seal.h"

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

/// Cuts the weights off the segment that ends with them, and describes them as one of their own, which is answered.
static Expected<Elf64_Phdr *> splitSegment(Headers &headers, Elf64_Shdr &section, uint64_t offset) {
  auto holds = [&](const Elf64_Phdr &segment) {
    return segment.p_type == PT_LOAD && segment.p_vaddr + segment.p_memsz == section.sh_addr + section.sh_size;
  };
  auto last = find_if(headers.segments, holds);
  if (last == headers.segments.end())
    return createStringError("the linker placed the weights where they were not expected");
  Elf64_Phdr weights = {};
  weights.p_type = PT_LOAD;
  weights.p_flags = PF_R;
  weights.p_offset = offset;
  weights.p_vaddr = weights.p_paddr = section.sh_addr;
  weights.p_filesz = weights.p_memsz = section.sh_size;
  weights.p_align = offset % kHugePage == section.sh_addr % kHugePage ? kHugePage : kPage;

  last->p_memsz = std::max(section.sh_addr > last->p_vaddr ? section.sh_addr - last->p_vaddr : 0, last->p_filesz);
  if (last->p_memsz == 0) // it held nothing else
    *last = weights;
  else
    last = headers.segments.insert(last + 1, weights);
  section.sh_type = SHT_PROGBITS;
  section.sh_flags &= ~static_cast<uint64_t>(SHF_WRITE);
  section.sh_offset = offset;
  return &*last;
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

Error completeLibrary(StringRef path, ArrayRef<WeightPiece> weights) {
  Expected<Headers> headers = readHeaders(path);
  if (!headers)
    return headers.takeError();
  const uint64_t oldPlace = headers->file.e_phoff, oldSize = asBytes(headers->segments).size();
  if (oldPlace != runtime::kSealOffset || oldSize < sizeof(runtime::Seal))
    return createStringError("the linker left no place for the seal");
  // Only programs need this one, and it says where the table was.
  erase_if(headers->segments, [](const Elf64_Phdr &segment) { return segment.p_type == PT_PHDR; });

  uint64_t offset = alignTo(headers->fileSize, alignof(Elf64_Phdr)), size = 0;
  Elf64_Phdr *segment = nullptr;
  if (any_of(weights, [](const WeightPiece &weight) { return weight.size() != 0; })) {
    auto section = find_if(headers->sections, isWeights);
    if (section == headers->sections.end())
      return createStringError("the objects have weights but no place for them");
    offset = alignTo(headers->fileSize, kPage);
    if (uint64_t gap = (section->sh_addr - offset) % kHugePage; gap <= kGrowth)
      offset += gap;
    Expected<Elf64_Phdr *> split = splitSegment(*headers, *section, offset);
    if (!split)
      return split.takeError();
    segment = *split;
    size = section->sh_size;
  }
  const uint64_t table = alignTo(size, alignof(Elf64_Phdr)), end = table + asBytes(headers->segments).size();
  if (segment)
    segment->p_filesz = segment->p_memsz = end;
  headers->file.e_phoff = offset + table;
  headers->file.e_phnum = headers->segments.size();

  Expected<File> file = File::open(path);
  if (!file)
    return file.takeError();
  auto linked = file->map(0, headers->fileSize);
  if (!linked)
    return linked.takeError();
  std::memset(linked->data() + oldPlace, 0, oldSize);
  std::memcpy(linked->data(), &headers->file, sizeof(headers->file));
  copy(asBytes(headers->sections), linked->data() + headers->file.e_shoff);
  std::vector<WeightPiece> pieces(weights);
  pieces.push_back({table, asBytes(headers->segments)});
  Expected<uint64_t> hash = writeWeights(*file, offset, end, pieces);
  if (!hash)
    return hash.takeError();
  runtime::Seal seal = {{}, offset + end, *hash};
  copy(runtime::kSealMark, seal.mark);
  std::memcpy(linked->data() + oldPlace, &seal, sizeof(seal));
  return Error::success();
}

} // namespace ptc::link
