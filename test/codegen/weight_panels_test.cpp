#include "compiler/codegen/cpu/pack/WeightPanels.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>
#include <random>

using namespace ptc::cpu;

namespace {

/// The place, in elements, of a row-major index.
int64_t placeOf(int64_t index, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides) {
  int64_t place = 0;
  for (size_t i = sizes.size(); i-- > 0; index /= sizes[i])
    place += index % sizes[i] * strides[i];
  return place;
}

/// Element by element, as the header says it.
std::vector<char> packSlowly(const WeightView &view, int64_t width) {
  int64_t panels = llvm::divideCeil(view.columns, width), inner = view.innerSize();
  int64_t groups = llvm::alignTo(inner, std::max(view.group, view.step)) / view.group;
  std::vector<char> packed(view.batches * panels * view.rows() * width * view.group * view.elementBytes);
  for (int64_t batch = 0; batch < view.batches; ++batch)
    for (int64_t column = 0; column < view.columns; ++column)
      for (int64_t k = 0; k < view.kCount(); ++k) {
        int64_t row = (batch * panels + column / width) * view.rows() + k / inner * groups + k % inner / view.group;
        int64_t to = (row * width + column % width) * view.group + k % inner % view.group;
        int64_t from = view.offset + placeOf(batch, view.batchSizes, view.batchStrides) +
                       placeOf(column, view.columnSizes, view.columnStrides) + placeOf(k, view.kSizes, view.kStrides);
        std::memcpy(&packed[to * view.elementBytes], view.bytes + from * view.elementBytes, view.elementBytes);
      }
  return packed;
}

std::vector<char> randomBytes(size_t count) {
  std::mt19937 random(1);
  std::vector<char> bytes(count);
  for (char &byte : bytes)
    byte = random();
  return bytes;
}

void check(const WeightView &view, int64_t width) {
  ptc::ByteSource source = pack(view, width);
  std::vector<char> expected = packSlowly(view, width);
  REQUIRE(source.size == expected.size());
  REQUIRE(source.size % source.unit == 0);
  // In one piece, and in pieces of which none begins where a unit does.
  for (uint64_t step : {source.size, uint64_t(1), source.unit + 3, 7 * source.unit - 1}) {
    std::vector<char> made(expected.size(), char(0x55));
    for (uint64_t begin = 0; begin < source.size; begin += step)
      source.read(begin, {made.data() + begin, std::min(step, source.size - begin)});
    REQUIRE(made == expected);
  }
}

} // namespace

TEST_CASE("weights are packed by panels, any part of them alone") {
  std::vector<char> bytes = randomBytes(1 << 17);
  for (int64_t elementBytes : {1, 2, 4, 8})
    for (int64_t group : {1, 2, 4}) {
      INFO(elementBytes << " bytes, groups of " << group);
      // [columns][k], as linear layers have it; not aligned
      WeightView rows{bytes.data() + 1, elementBytes, 3, 1, 37, {37}, {150}, {}, {}, {150}, {1}, group};
      check(rows, 16);
      // [k][columns]
      check({bytes.data(), elementBytes, 0, 1, 48, {48}, {1}, {}, {}, {75}, {48}, group}, 16);
      // batches of [kernel][channels / groups][columns], as grouped convolutions have it
      check({bytes.data(), elementBytes, 0, 2, 20, {20}, {1}, {2}, {20}, {3, 5}, {200, 40}, group}, 8);
      // two dimensions of columns, the second the outer one
      check({bytes.data(), elementBytes, 5, 3, 24, {4, 6}, {1, 4}, {3}, {480}, {2, 10}, {240, 24}, group}, 32);
      // nothing to add up over
      check({bytes.data(), elementBytes, 0, 1, 9, {9}, {2}, {}, {}, {}, {}, 1}, 4);
    }
}

TEST_CASE("panels may have whole steps of several groups") {
  std::vector<char> bytes = randomBytes(1 << 17);
  for (int64_t k : {1, 63, 64, 65, 130, 190, 300}) {
    INFO(k << " numbers in steps of 64");
    check({bytes.data() + 1, 1, 3, 1, 37, {37}, {k}, {}, {}, {k}, {1}, /*group=*/4, /*step=*/64}, 32);
    check({bytes.data(), 1, 0, 1, 48, {48}, {1}, {}, {}, {k}, {48}, /*group=*/4, /*step=*/64}, 32);
  }
}
