//===- WeightWriter.cpp ---------------------------------------------------===//
//
// The file is cut at huge pages, and each thread takes the next part: it makes what is to be made in a buffer that
// stays in its cache and writes the whole by one call, for which the file's cache gets one huge page.
//
//===----------------------------------------------------------------------===//

#include "compiler/link/WeightWriter.h"

#include "compiler/ByteSource.h"
#include "compiler/Threads.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

using namespace llvm;

namespace ptc::link {

namespace {
/// What one thread writes with.
class Writer {
public:
  Writer(File &file, uint64_t offset, ArrayRef<WeightPiece> weights) : file(file), offset(offset), weights(weights) {}

  /// Bytes [begin, end) of the weights, a huge page at most.
  Error write(uint64_t begin, uint64_t end);

private:
  /// Room in the buffer for the next bytes.
  MutableArrayRef<char> take(uint64_t count);

  File &file;
  uint64_t offset;
  ArrayRef<WeightPiece> weights;
  std::unique_ptr<char[]> buffer{new char[kHugePage]};
  uint64_t used = 0;
  std::vector<iovec> parts;
};
} // namespace

MutableArrayRef<char> Writer::take(uint64_t count) {
  MutableArrayRef<char> room(buffer.get() + used, count);
  used += count;
  parts.push_back({room.data(), count});
  return room;
}

Error Writer::write(uint64_t begin, uint64_t end) {
  parts.clear();
  used = 0;
  uint64_t place = begin;
  auto endsBefore = [](const WeightPiece &weight, uint64_t place) { return weight.offset + weight.size() <= place; };
  for (auto weight = lower_bound(weights, begin, endsBefore); place < end; ++weight) {
    uint64_t next = weight == weights.end() ? end : std::min(end, weight->offset);
    if (place < next) {
      fill(take(next - place), 0);
      place = next;
    }
    if (place == end)
      break;
    uint64_t from = place - weight->offset, count = std::min(end - place, weight->size() - from);
    if (weight->source)
      weight->source->read(from, take(count));
    else
      parts.push_back({const_cast<char *>(weight->bytes.data()) + from, count});
    place += count;
  }
  return file.write(offset + begin, parts);
}

Error writeWeights(File &file, uint64_t offset, uint64_t size, ArrayRef<WeightPiece> weights) {
  uint64_t place = 0;
  for (const WeightPiece &weight : weights) {
    if (weight.offset < place || weight.offset > size || weight.size() > size - weight.offset)
      return createStringError("a weight lies outside of the weights");
    place = weight.offset + weight.size();
  }

  uint64_t firstPage = offset / kHugePage, pages = llvm::divideCeil(offset + size, kHugePage) - firstPage;
  std::atomic<uint64_t> next = 0;
  std::mutex mutex;
  Error result = Error::success();
  auto run = [&] {
    Writer writer(file, offset, weights);
    for (uint64_t page; (page = next++) < pages;) {
      uint64_t begin = std::max(offset, (firstPage + page) * kHugePage) - offset;
      uint64_t end = std::min(offset + size, (firstPage + page + 1) * kHugePage) - offset;
      if (Error error = writer.write(begin, end)) {
        next = pages;
        std::lock_guard lock(mutex);
        if (result) // the first one says it all
          consumeError(std::move(error));
        else
          result = std::move(error);
      }
    }
  };
  runOnThreads(pages, run);
  return result;
}

} // namespace ptc::link
