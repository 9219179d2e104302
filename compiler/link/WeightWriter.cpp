//===- WeightWriter.cpp ---------------------------------------------------===//
//
// The file is cut at huge pages, and each thread takes the next one: it maps this page, makes what is to be made there,
// hashes what there is then and lets go of it.
//
//===----------------------------------------------------------------------===//

#include "compiler/link/WeightWriter.h"

#include "compiler/support/Threads.h"
#include "compiler/weights/ByteSource.h"
#include "runtime/Seal.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>
#include <vector>

using namespace llvm;

namespace ptc::link {

/// Bytes of the weights from `begin` on.
static void read(ArrayRef<WeightPiece> weights, uint64_t begin, MutableArrayRef<char> to) {
  uint64_t end = begin + to.size();
  auto endsBefore = [](const WeightPiece &weight, uint64_t place) { return weight.offset + weight.size() <= place; };
  for (auto weight = lower_bound(weights, begin, endsBefore); weight != weights.end() && weight->offset < end;
       ++weight) {
    uint64_t from = std::max(begin, weight->offset), count = std::min(end, weight->offset + weight->size()) - from;
    MutableArrayRef<char> room = to.slice(from - begin, count);
    if (weight->source)
      weight->source->read(from - weight->offset, room);
    else
      std::memcpy(room.data(), weight->bytes.data() + (from - weight->offset), count);
  }
}

Expected<uint64_t> writeWeights(File &file, uint64_t offset, uint64_t size, ArrayRef<WeightPiece> weights) {
  uint64_t place = 0;
  for (const WeightPiece &weight : weights) {
    if (weight.offset < place || weight.offset > size || weight.size() > size - weight.offset)
      return createStringError("a weight lies outside of the weights");
    place = weight.offset + weight.size();
  }

  if (Error error = file.grow(offset + size))
    return std::move(error);
  static_assert(kHugePage == runtime::kSealedPiece);
  std::vector<uint64_t> hashes(divideCeil(offset + size, kHugePage));
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  Error result = Error::success();
  auto run = [&] {
    for (uint64_t page; (page = next++) < hashes.size();) {
      uint64_t begin = page * kHugePage, end = std::min(offset + size, begin + kHugePage);
      auto room = file.map(begin, end - begin);
      if (room) {
        uint64_t first = std::clamp(offset, begin, end);
        read(weights, first - offset, MutableArrayRef(room->data(), room->size()).drop_front(first - begin));
        hashes[page] = runtime::hashPiece(room->data(), room->size());
        continue;
      }
      next = hashes.size();
      std::lock_guard lock(mutex);
      if (result) // the first one says it all
        consumeError(room.takeError());
      else
        result = room.takeError();
    }
  };
  runOnThreads(hashes.size(), run);
  if (result)
    return std::move(result);
  return std::accumulate(hashes.begin(), hashes.end(), uint64_t(0), runtime::addPiece);
}

} // namespace ptc::link
