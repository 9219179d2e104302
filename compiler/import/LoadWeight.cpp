//===- LoadWeight.cpp -----------------------------------------------------===//

#include "compiler/import/LoadWeight.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace ptc::import {
namespace {

// A tensor of stride 0 may be larger than its storage, which must not let a
// small file ask for all memory.
constexpr uint64_t kMaxExpansion = 64;
constexpr uint64_t kAlwaysAllowed = 64 << 20;

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

/// Elements from the first to the last that the tensor reaches, and how many it
/// has; nullopt on overflow.
struct Extent {
  int64_t count = 1, reach = 1;
};
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

/// Calls `visit` with the place of each element after the first one's, the last dimension innermost.
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

std::vector<char> makeRowMajor(const StoredTensor &stored, const char *start, unsigned elementSize, int64_t count) {
  std::vector<char> bytes(count * elementSize);
  char *to = bytes.data();
  forEachElement(stored, count, [&](int64_t place) {
    std::memcpy(to, start + place * elementSize, elementSize);
    to += elementSize;
  });
  return bytes;
}

/// From the first byte of its elements to the last.
llvm::ArrayRef<char> bytesOf(const StoredTensor &stored, const Extent &extent) {
  unsigned elementSize = byteSize(*stored.dtype);
  return extent.count ? stored.bytes.slice(stored.offset * elementSize, extent.reach * elementSize)
                      : llvm::ArrayRef<char>();
}

} // namespace

std::optional<int64_t> placeWithin(const StoredTensor &inner, const StoredTensor &outer) {
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

llvm::Expected<Weight> loadWeight(llvm::StringRef key, const StoredTensor &stored, WeightStore &weights,
                                  mlir::MLIRContext &context) {
  if (!stored.dtype)
    return fail("is " + stored.dtypeName + ", which ptc cannot read");
  auto extent = measure(stored);
  unsigned elementSize = byteSize(*stored.dtype);
  if (!extent || extent->count > INT64_MAX / 16 || stored.strides.size() != stored.sizes.size() || stored.offset < 0)
    return fail("has impossible sizes or strides");
  auto type = mlir::RankedTensorType::get(stored.sizes, toType(*stored.dtype, &context));
  if (extent->count == 0)
    return weights.addView(key, type, {});

  uint64_t available = stored.bytes.size() / elementSize;
  if (uint64_t(stored.offset) > available || uint64_t(extent->reach) > available - stored.offset)
    return fail("needs " + llvm::Twine(stored.offset + extent->reach) + " elements, but its storage has " +
                llvm::Twine(available));
  const char *start = stored.bytes.data() + stored.offset * elementSize;
  uint64_t size = uint64_t(extent->count) * elementSize;
  if (isRowMajor(stored))
    return weights.addView(key, type, llvm::ArrayRef(start, size));
  if (size > kAlwaysAllowed && size / kMaxExpansion > stored.bytes.size())
    return fail("repeats its " + llvm::Twine(stored.bytes.size()) + " bytes to an unreasonable " + llvm::Twine(size));
  return weights.add(key, type, makeRowMajor(stored, start, elementSize, extent->count));
}

} // namespace ptc::import
