#include "compiler/codegen/cpu/pack/WeightPieces.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <random>

using namespace ptc::cpu;

namespace {

float toFloat(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Where element (k, column) of a panel has its high piece.
int64_t placeOf(int64_t k, int64_t column) {
  int64_t pair = k % pieces::kPairs, place = k % pieces::kStep / pieces::kPairs;
  return k / pieces::kStep * pieces::kStepElements + (pair * pieces::kColumns + column) * 2 + place;
}

} // namespace

TEST_CASE("pieces add up to the numbers they are of, exactly") {
  constexpr int64_t kPanels = 2, kRows = 75, kSteps = 3;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-30, 30), sign(-1, 1);
  std::vector<float> weights(kPanels * kRows * pieces::kColumns);
  for (float &weight : weights)
    weight = sign(random) * std::exp2(exponent(random));
  weights[0] = -0.0f;
  constexpr uint64_t kRowBytes = pieces::kColumns * sizeof(float);
  auto read = [&](uint64_t first, llvm::MutableArrayRef<char> to) {
    std::memcpy(to.data(), reinterpret_cast<const char *>(weights.data()) + first * kRowBytes, to.size());
  };
  ptc::ByteSource source = pieces::split({weights.size() * sizeof(float), kRowBytes, read}, kRows);
  std::vector<uint16_t> split(kPanels * kSteps * pieces::kStepElements);
  REQUIRE(source.size == split.size() * sizeof(uint16_t));
  source.read(0, {reinterpret_cast<char *>(split.data()), source.size});
  for (int64_t panel = 0; panel < kPanels; ++panel)
    for (int64_t k = 0; k < kSteps * pieces::kStep; ++k)
      for (int64_t column = 0; column < pieces::kColumns; ++column) {
        const uint16_t *high = &split[panel * kSteps * pieces::kStepElements + placeOf(k, column)];
        float sum = toFloat(high[0]);
        for (int64_t piece = 1; piece < pieces::kPieces; ++piece)
          sum += toFloat(high[piece * pieces::kPieceElements]);
        float expected = k < kRows ? weights[(panel * kRows + k) * pieces::kColumns + column] : 0;
        REQUIRE(sum == expected);
      }
}

TEST_CASE("weights of bf16 fill whole steps, with zeros beyond the last k") {
  constexpr int64_t kPanels = 2, kRows = 75, kPairRows = 38, kSteps = 3, kRowElements = 2 * pieces::kColumns;
  std::vector<uint16_t> packed(kPanels * kPairRows * kRowElements); // an odd k has a zero for its neighbour
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = i / pieces::kColumns / 2 % kPairRows == kPairRows - 1 && i % 2 ? 0 : i + 1;
  constexpr uint64_t kRowBytes = kRowElements * sizeof(uint16_t);
  auto read = [&](uint64_t first, llvm::MutableArrayRef<char> to) {
    std::memcpy(to.data(), reinterpret_cast<const char *>(packed.data()) + first * kRowBytes, to.size());
  };
  ptc::ByteSource source = pieces::padSteps({packed.size() * sizeof(uint16_t), kRowBytes, read}, kRows);
  std::vector<uint16_t> padded(kPanels * kSteps * pieces::kPieceElements);
  REQUIRE(source.size == padded.size() * sizeof(uint16_t));
  source.read(0, {reinterpret_cast<char *>(padded.data()), source.size});
  for (int64_t panel = 0; panel < kPanels; ++panel)
    for (int64_t k = 0; k < kSteps * pieces::kStep; ++k)
      for (int64_t column = 0; column < pieces::kColumns; ++column) {
        uint16_t expected = k < kRows ? packed[(panel * kPairRows + k / 2) * kRowElements + 2 * column + k % 2] : 0;
        REQUIRE(padded[(panel * kSteps * pieces::kPairs + k / 2) * kRowElements + 2 * column + k % 2] == expected);
      }
}

TEST_CASE("numbers have pieces unless their sums could be infinite") {
  auto areSplittable = [](std::vector<float> numbers) {
    return pieces::areSplittable({reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)});
  };
  CHECK(areSplittable({}));
  CHECK(areSplittable({1, -2, 0x1p49f, -0.0f}));
  CHECK_FALSE(areSplittable({1, -0x1p50f}));
  CHECK_FALSE(areSplittable({INFINITY, 1}));
  CHECK_FALSE(areSplittable({1, NAN, 1}));
}

TEST_CASE("pieces pay for some rows and not too large weights") {
  CHECK(pieces::findObstacle(196, 112, 672).empty());
  CHECK(pieces::findObstacle(49, 160, 960).empty());
  CHECK_FALSE(pieces::findObstacle(1, 160, 960).empty());    // a matrix times a vector waits for memory
  CHECK_FALSE(pieces::findObstacle(128, 768, 3072).empty()); // 9 MiB: split when they are used
  CHECK_FALSE(pieces::findObstacle(3136, 16, 64).empty());   // half of a step would be zeros
}
