#include "compiler/import/LoadWeight.h"

#include "compiler/import/StoredTensor.h"

#include <cstring>

namespace ptc::import {
namespace {

// A tensor of stride 0 may be larger than its storage, which must not let a
// small file ask for all memory.
constexpr uint64_t kMaxExpansion = 64;
constexpr uint64_t kAlwaysAllowed = 64 << 20;

llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

std::vector<char> makeRowMajor(const StoredTensor &stored, const char *start, unsigned elementSize, int64_t count) {
  std::vector<char> bytes(count * elementSize);
  char *to = bytes.data();
  forEachElement(stored, count, [&](int64_t place) {
    std::memcpy(to, start + place * elementSize, elementSize);
    to += elementSize;
  });
  return bytes;
}

} // namespace

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
