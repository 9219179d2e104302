#include "compiler/import/StoredTensor.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

namespace ptc::import {

std::optional<Extent> measure(const StoredTensor &stored) {
  Extent extent;
  int64_t last = 0;
  for (auto [size, stride] : llvm::zip(stored.sizes, stored.strides)) {
    int64_t step;
    if (size < 0 || stride < 0 || llvm::MulOverflow(extent.count, size, extent.count))
      return std::nullopt;
    if (size > 0 && (llvm::MulOverflow(size - 1, stride, step) || llvm::AddOverflow(last, step, last)))
      return std::nullopt;
  }
  if (llvm::AddOverflow(last, int64_t(1), extent.reach))
    return std::nullopt;
  return extent;
}

bool isRowMajor(const StoredTensor &stored) {
  int64_t expected = 1;
  for (size_t i = stored.sizes.size(); i-- > 0;) {
    if (stored.sizes[i] != 1 && stored.strides[i] != expected)
      return false;
    expected *= stored.sizes[i];
  }
  return true;
}

void forEachElement(const StoredTensor &stored, int64_t count, llvm::function_ref<void(int64_t place)> visit) {
  llvm::SmallVector<int64_t> index(stored.sizes.size(), 0);
  int64_t from = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(from);
    for (size_t dim = index.size(); dim-- > 0;) {
      from += stored.strides[dim];
      if (++index[dim] < stored.sizes[dim])
        break;
      from -= stored.strides[dim] * stored.sizes[dim];
      index[dim] = 0;
    }
  }
}

/// From the first byte of its elements to the last.
static llvm::ArrayRef<char> bytesOf(const StoredTensor &stored, const Extent &extent) {
  unsigned elementSize = byteSize(*stored.dtype);
  return extent.count ? stored.bytes.slice(stored.offset * elementSize, extent.reach * elementSize)
                      : llvm::ArrayRef<char>();
}

uint64_t bytesReached(const StoredTensor &stored) {
  auto extent = measure(stored);
  int64_t end, bytes;
  if (!stored.dtype || !extent || extent->count == 0 || stored.offset < 0 ||
      llvm::AddOverflow(stored.offset, extent->reach, end) ||
      llvm::MulOverflow(end, int64_t(byteSize(*stored.dtype)), bytes))
    return 0;
  return bytes;
}

std::optional<int64_t> placeWithin(const StoredTensor &inner, const StoredTensor &outer) {
  for (const StoredTensor *stored : {&inner, &outer}) // what a file says of them is checked when they are loaded
    if (stored->strides.size() != stored->sizes.size())
      return std::nullopt;
  if (!inner.dtype || inner.dtype != outer.dtype || inner.bytes.data() != outer.bytes.data() || !isRowMajor(outer))
    return std::nullopt;
  auto part = measure(inner), whole = measure(outer);
  int64_t place, end;
  if (!part || !whole || part->count == 0 || whole->count == 0 ||
      llvm::SubOverflow(inner.offset, outer.offset, place) || llvm::AddOverflow(place, part->reach, end))
    return std::nullopt;
  bool isPart = place >= 0 && end <= whole->reach && part->count < whole->count;
  return isPart ? std::optional(place) : std::nullopt;
}

bool shareMemory(const StoredTensor &first, const StoredTensor &second) {
  Extent firstExtent = *measure(first), secondExtent = *measure(second);
  llvm::ArrayRef<char> all = bytesOf(first, firstExtent), others = bytesOf(second, secondExtent);
  if (all.empty() || others.empty() || all.end() <= others.begin() || others.end() <= all.begin())
    return false;
  // Two columns of a matrix lie between each other, and share nothing.
  llvm::BitVector isElement(all.size());
  unsigned size = byteSize(*first.dtype), otherSize = byteSize(*second.dtype);
  forEachElement(first, firstExtent.count, [&](int64_t place) { isElement.set(place * size, (place + 1) * size); });
  bool isShared = false;
  forEachElement(second, secondExtent.count, [&](int64_t place) {
    for (const char *byte = others.begin() + place * otherSize, *end = byte + otherSize; byte < end; ++byte)
      isShared |= byte >= all.begin() && byte < all.end() && isElement[byte - all.begin()];
  });
  return isShared;
}

} // namespace ptc::import
