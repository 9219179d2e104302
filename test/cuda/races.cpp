// A shadow of the watched memory says of each word, and of each byte of words that are accessed by parts, who has read
// and written it last.
//
// Blocks run one after the other, and no thread passes a barrier before all have come, so that one counter, the phase,
// tells what is between two barriers of a block. A later phase of the same block, and a later grid, come after what was
// before them; all else is ordered only within a thread, and by the barriers of its warp. A shuffle is no barrier: it
// says nothing of memory (PTX ISA, shfl.sync).
#include "test/cuda/races.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sys/mman.h>

namespace ptc::test::races {
namespace {
constexpr unsigned kWarp = 32;
constexpr size_t kWord = 4;

/// Whom a mark stands for.
enum Level : uint32_t { Thread, Warp, Block, Grid };

/// The last accesses of one kind.
struct Mark {
  uint32_t phase; ///< of the last
  uint32_t level : 2, isAtomic : 1, thread : 10, warpBarriers : 19;
};

struct Cell {
  Mark written, read;
};

/// What accesses of whole words did; and whether there are others.
struct Word {
  Cell cell;
  uint32_t hasParts;
};

struct Region {
  size_t bytes;
  Word *words;
  Cell *parts; ///< of each byte what smaller accesses did
  bool isShared;
};

std::map<const char *, Region> regions;
uint64_t changes = 0; ///< of the regions
uint32_t phase = 1, firstOfBlock = 1, firstOfGrid = 1;

bool isSameWarp(const Mark &mark, Accessor me) { return mark.thread / kWarp == me.thread / kWarp; }

/// Whether all that a mark stands for came before what `me` does now. Before the phase `first` nobody used the memory.
bool isBefore(const Mark &mark, Accessor me, uint32_t first) {
  if (mark.phase < first)
    return true;
  if (mark.level == Grid || mark.phase < firstOfBlock)
    return false;
  if (mark.phase < phase)
    return true;
  if (mark.level == Thread && mark.thread == me.thread)
    return true;
  return mark.level < Block && isSameWarp(mark, me) && mark.warpBarriers < me.warpBarriers;
}

/// What `me` does now is added to a mark; what came before is forgotten.
void add(Mark &mark, Accessor me, bool isAtomic, uint32_t first) {
  Mark mine = {phase, Thread, isAtomic, me.thread, me.warpBarriers};
  if (!isBefore(mark, me, first)) {
    bool isOfWarp = mark.level < Block && isSameWarp(mark, me);
    mine.level = mark.level == Grid || mark.phase < firstOfBlock ? Grid : isOfWarp ? Warp : Block;
  }
  mark = mine;
}

std::string nameOf(const Mark &mark) {
  if (mark.level == Grid || mark.phase < firstOfBlock)
    return "another block";
  if (mark.level == Block)
    return "threads of several warps";
  return (mark.level == Warp ? "threads of the warp of " : "thread ") + std::to_string(mark.thread);
}

/// An access that is looked at.
struct Event {
  Accessor me;
  Access access;
  uint32_t first;             ///< the phase before which nobody used the memory
  const char *verb = nullptr; ///< what is wrong: what those of `mark` did
  Mark mark = {};

  bool reads() const { return access == Access::Read || access == Access::AtomicRead; }
  bool isAtomic() const { return access == Access::Atomic || access == Access::AtomicRead; }

  /// Whether it is a read of which the cell knows already: the most frequent case.
  bool isKnown(const Cell &cell) const {
    const Mark &read = cell.read;
    bool isRead = read.level == Grid ? read.phase >= first : read.level == Block && read.phase == phase;
    return access == Access::Read && isRead && cell.written.phase < first;
  }

  /// Whether the access is in order; `adds`: then the cell has it.
  bool check(Cell &cell, bool adds) {
    if (isKnown(cell))
      return true;
    if (!(isAtomic() && cell.written.isAtomic) && !isBefore(cell.written, me, first)) {
      verb = "wrote";
      mark = cell.written;
    } else if (!reads() && !isBefore(cell.read, me, first)) {
      verb = "read";
      mark = cell.read;
    } else if (adds && access != Access::AtomicRead) {
      add(reads() ? cell.read : cell.written, me, isAtomic(), first);
    }
    return !verb;
  }
};

template <typename T> T *map(size_t count) {
  // Pages that nobody touches take no memory, and all begin as zeros.
  void *memory =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    abort();
  return static_cast<T *>(memory);
}

size_t countWords(size_t bytes) { return (bytes + kWord - 1) / kWord; }

struct Found {
  const Region *region;
  size_t offset;
};

Found find(const char *address, size_t bytes) {
  static const std::pair<const char *const, Region> *last = nullptr;
  static uint64_t version = 0;
  if (!last || version != changes || address < last->first || address >= last->first + last->second.bytes) {
    auto next = regions.upper_bound(address);
    if (next == regions.begin())
      return {};
    last = &*std::prev(next);
    version = changes;
  }
  size_t offset = address - last->first;
  return offset + bytes <= last->second.bytes ? Found{&last->second, offset} : Found{};
}
} // namespace

void watch(void *memory, size_t bytes, bool isShared) {
  if (bytes == 0)
    return;
  size_t words = countWords(bytes);
  regions[static_cast<char *>(memory)] = {bytes, map<Word>(words), map<Cell>(words * kWord), isShared};
  ++changes;
}

void unwatch(void *memory) {
  auto found = regions.find(static_cast<char *>(memory));
  if (found == regions.end())
    return;
  const Region &region = found->second;
  munmap(region.words, countWords(region.bytes) * sizeof(Word));
  munmap(region.parts, countWords(region.bytes) * kWord * sizeof(Cell));
  regions.erase(found);
  ++changes;
}

void beginGrid() { firstOfGrid = firstOfBlock = ++phase; }
void beginBlock() { firstOfBlock = ++phase; }
void passBarrier() { ++phase; }

std::string check(Accessor me, Access access, const void *address, size_t bytes) {
  constexpr size_t kWidest = 8; // wider ones may be written as two
  auto [region, offset] = find(static_cast<const char *>(address), bytes);
  if (!region)
    return {};
  Event event = {me, access, region->isShared ? firstOfBlock : firstOfGrid};
  auto describe = [&, region = region] {
    const char *does = event.reads() ? " reads " : event.isAtomic() ? " combines with " : " writes ";
    return "thread " + std::to_string(me.thread) + does + std::to_string(bytes) + " bytes of " +
           (region->isShared ? "shared" : "device") + " memory";
  };
  if (reinterpret_cast<uintptr_t>(address) % std::min(bytes, kWidest) != 0)
    return describe() + " at an address that is not a multiple of their size";
  bool isWhole = bytes % kWord == 0, isThere = true;
  for (size_t at = offset, step = isWhole ? kWord : 1; at < offset + bytes; at += step) {
    Word &word = region->words[at / kWord];
    bool isInOrder = event.check(word.cell, isWhole), isWritten = word.cell.written.phase >= event.first;
    if (!isWhole || word.hasParts)
      for (Cell *part = region->parts + at, *end = part + step; part < end && isInOrder; ++part) {
        isInOrder = event.check(*part, !isWhole);
        isWritten |= part->written.phase >= event.first;
      }
    if (!isInOrder)
      return describe() + " that " + nameOf(event.mark) + " " + event.verb + ", and no barrier is between";
    isThere &= isWritten;
    word.hasParts |= !isWhole;
  }
  if (event.reads() && region->isShared && !isThere)
    return describe() + " that nobody wrote";
  return {};
}

} // namespace ptc::test::races
