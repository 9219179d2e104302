#include "runtime/Memory.h"
#include "runtime/Program.h"

#include <stdlib.h>
#include <sys/mman.h>

namespace ptc::runtime {

/// From here on blocks are mapped, so that releasing one gives it back to the system at once, and on huge pages.
constexpr int64_t kMapped = 4 << 20, kMappedAgain = 256 << 10;
constexpr int64_t kHugePage = 2 << 20;

static int64_t roundToHugePage(int64_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

/// Maps `size` bytes (whole huge pages) at a huge page's boundary.
static char *mapHuge(int64_t size) {
  void *all = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED)
    return nullptr;
  char *begin = static_cast<char *>(all);
  char *data = reinterpret_cast<char *>(roundToHugePage(reinterpret_cast<intptr_t>(begin)));
  if (data > begin)
    munmap(begin, data - begin);
  if (int64_t rest = begin + kHugePage - data)
    munmap(data + size, rest);
  madvise(data, size, MADV_HUGEPAGE); // a wish
  return data;
}

bool Block::reserve(int64_t bytes, Use use) {
  if (bytes <= size)
    return true;
  release();
  if (bytes > INT64_MAX - 2 * kHugePage)
    return false;
  isMapped = bytes >= (use == Use::Again ? kMappedAgain : kMapped);
  if (isMapped) {
    bytes = roundToHugePage(bytes);
    data = mapHuge(bytes);
  } else {
    bytes = roundToAlignment(bytes);
    data = static_cast<char *>(aligned_alloc(kAlignment, bytes));
  }
  size = data ? bytes : 0;
  return data != nullptr;
}

void Block::release() {
  if (isMapped && data)
    munmap(data, size);
  else
    free(data);
  *this = {};
}

void adviseHugePages(const char *data, int64_t bytes) {
  if (bytes >= kMapped) // the weights begin at a page
    madvise(const_cast<char *>(data), bytes, MADV_HUGEPAGE);
}

void *allocateZeroed(int64_t count, int64_t size) { return calloc(count, size); }
void releaseZeroed(void *data) { free(data); }

} // namespace ptc::runtime
