#include "compiler/link/WeightWriter.h"

#include "compiler/weights/ByteSource.h"
#include "runtime/Seal.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <deque>
#include <fcntl.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace ptc;

namespace {

/// An empty file of its own, which the test's end removes.
struct TemporaryFile {
  llvm::SmallString<128> path;
  TemporaryFile() { REQUIRE(!llvm::sys::fs::createTemporaryFile("weights", "bin", path)); }
  ~TemporaryFile() { (void)llvm::sys::fs::remove(path); }

  std::string content() const {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    REQUIRE(buffer);
    return (*buffer)->getBuffer().str();
  }
};

/// Made anew each time, with nothing of it kept.
ByteSource sourceOf(const std::vector<char> &bytes, uint64_t unit) {
  return {bytes.size(), unit, [&bytes, unit](uint64_t first, llvm::MutableArrayRef<char> to) {
            std::memcpy(to.data(), bytes.data() + first * unit, to.size());
          }};
}

std::string messageOf(llvm::Error error) { return llvm::toString(std::move(error)); }
std::string messageOf(llvm::Expected<uint64_t> hash) { return hash ? "" : messageOf(hash.takeError()); }

} // namespace

TEST_CASE("weights and gaps between them are written as they are, wherever huge pages end") {
  std::mt19937 random(3);
  std::deque<std::vector<char>> contents;
  std::deque<ByteSource> sources;
  std::vector<link::WeightPiece> weights;
  // As long as a page, longer, empty, and many in one page; every other one is made.
  for (uint64_t size : {uint64_t(24), 3 * link::kHugePage + 48, uint64_t(0), link::kHugePage, uint64_t(1 << 20),
                        uint64_t(72), 5 * link::kHugePage / 2 + 24}) {
    uint64_t end = weights.empty() ? 0 : weights.back().offset + weights.back().size();
    std::vector<char> &bytes = contents.emplace_back(size);
    for (char &byte : bytes)
      byte = random();
    const ByteSource *source = nullptr;
    if (contents.size() % 2 && size % 24 == 0)
      source = &sources.emplace_back(sourceOf(bytes, 24));
    weights.push_back({(end + 63) / 64 * 64, source ? llvm::ArrayRef<char>() : llvm::ArrayRef<char>(bytes), source});
  }
  const uint64_t offset = 3 * 4096, size = weights.back().offset + weights.back().size() + 100;
  std::string expected(offset + size, '\0');
  for (auto [weight, bytes] : llvm::zip(weights, contents))
    std::copy(bytes.begin(), bytes.end(), expected.begin() + offset + weight.offset);

  TemporaryFile file;
  auto opened = link::File::open(file.path);
  REQUIRE(bool(opened));
  REQUIRE(messageOf(opened->grow(offset)) == "");
  auto hash = link::writeWeights(*opened, offset, size, weights);
  REQUIRE(bool(hash));
  CHECK(file.content() == expected);
  uint64_t sum = 0;
  for (llvm::StringRef rest = expected; !rest.empty(); rest = rest.drop_front(std::min(rest.size(), link::kHugePage)))
    sum = runtime::addPiece(sum, llvm::xxHash64(rest.take_front(link::kHugePage)));
  CHECK(*hash == sum);
}

TEST_CASE("hashes are those of XXH64") {
  std::string text;
  for (int i = 0; i < 200; ++i, text.push_back(static_cast<char>(i * 37)))
    CHECK(runtime::hashPiece(text.data(), text.size()) == llvm::xxHash64(text));
}

TEST_CASE("weights that overlap, or do not fit, are an error") {
  TemporaryFile file;
  auto opened = link::File::open(file.path);
  REQUIRE(bool(opened));
  std::vector<char> bytes(64);
  CHECK(messageOf(link::writeWeights(*opened, 0, 127, {{0, bytes}, {64, bytes}})) != "");
  CHECK(messageOf(link::writeWeights(*opened, 0, 128, {{0, bytes}, {32, bytes}})) != "");
  CHECK(messageOf(link::writeWeights(*opened, 0, 128, {{0, bytes}, {64, bytes}})) == "");
}

TEST_CASE("weights for which the disk has no room are an error that names the file, before any is written") {
  TemporaryFile file;
  auto opened = link::File::open(file.path);
  REQUIRE(bool(opened));
  ByteSource source = {uint64_t(1) << 62, 64, [](uint64_t, llvm::MutableArrayRef<char>) { FAIL("made"); }};
  CHECK_THAT(messageOf(link::writeWeights(*opened, 0, source.size, {{0, {}, &source}})),
             Catch::StartsWith(std::string(file.path) + ": ") && Catch::EndsWith(" (cannot write the weights)"));
  CHECK(file.content().empty());
}

TEST_CASE("what cannot be written is one error that names the file") {
  std::vector<char> bytes(8 * link::kHugePage);
  auto device = link::File::open("/dev/full");
  REQUIRE(bool(device));
  CHECK_THAT(messageOf(link::writeWeights(*device, 0, bytes.size(), {{0, bytes}})),
             Catch::Equals("/dev/full: No such device (cannot write the weights)"));

  // One that grows but cannot be mapped, by whichever thread takes a piece of it.
  int sealed = memfd_create("weights", MFD_ALLOW_SEALING);
  REQUIRE(fcntl(sealed, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0);
  std::string path = "/proc/self/fd/" + std::to_string(sealed);
  auto opened = link::File::open(path);
  REQUIRE(bool(opened));
  CHECK_THAT(messageOf(link::writeWeights(*opened, 4096, bytes.size(), {{0, bytes}})),
             Catch::Equals(path + ": Operation not permitted (cannot write the weights)"));
  close(sealed);
}
