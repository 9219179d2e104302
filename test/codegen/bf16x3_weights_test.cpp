#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"

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

/// Where element (k, column) of a panel has its high term.
int64_t placeOf(int64_t k, int64_t column) {
  int64_t pair = k % bf16x3::kPairs, place = k % bf16x3::kStep / bf16x3::kPairs;
  return k / bf16x3::kStep * bf16x3::kStepElements + (pair * bf16x3::kColumns + column) * 2 + place;
}

} // namespace

TEST_CASE("terms add up to the numbers they are of, exactly") {
  constexpr int64_t kPanels = 2, kRows = 75, kSteps = 3;
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-30, 30), sign(-1, 1);
  std::vector<float> weights(kPanels * kRows * bf16x3::kColumns);
  for (float &weight : weights)
    weight = sign(random) * std::exp2(exponent(random));
  weights[0] = -0.0f;
  constexpr uint64_t kRowBytes = bf16x3::kColumns * sizeof(float);
  auto read = [&](uint64_t first, llvm::MutableArrayRef<char> to) {
    std::memcpy(to.data(), reinterpret_cast<const char *>(weights.data()) + first * kRowBytes, to.size());
  };
  ptc::ByteSource source = bf16x3::split({weights.size() * sizeof(float), kRowBytes, read}, kRows);
  std::vector<uint16_t> split(kPanels * kSteps * bf16x3::kStepElements);
  REQUIRE(source.size == split.size() * sizeof(uint16_t));
  source.read(0, {reinterpret_cast<char *>(split.data()), source.size});
  for (int64_t panel = 0; panel < kPanels; ++panel)
    for (int64_t k = 0; k < kSteps * bf16x3::kStep; ++k)
      for (int64_t column = 0; column < bf16x3::kColumns; ++column) {
        const uint16_t *high = &split[panel * kSteps * bf16x3::kStepElements + placeOf(k, column)];
        float sum = toFloat(high[0]);
        for (int64_t term = 1; term < bf16x3::kTerms; ++term)
          sum += toFloat(high[term * bf16x3::kTermElements]);
        float expected = k < kRows ? weights[(panel * kRows + k) * bf16x3::kColumns + column] : 0;
        REQUIRE(sum == expected);
      }
}

TEST_CASE("weights of bf16 fill whole steps, with zeros beyond the last k") {
  constexpr int64_t kPanels = 2, kRows = 75, kPairRows = 38, kSteps = 3, kRowElements = 2 * bf16x3::kColumns;
  std::vector<uint16_t> packed(kPanels * kPairRows * kRowElements); // an odd k has a zero for its neighbour
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = i / bf16x3::kColumns / 2 % kPairRows == kPairRows - 1 && i % 2 ? 0 : i + 1;
  constexpr uint64_t kRowBytes = kRowElements * sizeof(uint16_t);
  auto read = [&](uint64_t first, llvm::MutableArrayRef<char> to) {
    std::memcpy(to.data(), reinterpret_cast<const char *>(packed.data()) + first * kRowBytes, to.size());
  };
  ptc::ByteSource source = bf16x3::padSteps({packed.size() * sizeof(uint16_t), kRowBytes, read}, kRows);
  std::vector<uint16_t> padded(kPanels * kSteps * bf16x3::kTermElements);
  REQUIRE(source.size == padded.size() * sizeof(uint16_t));
  source.read(0, {reinterpret_cast<char *>(padded.data()), source.size});
  for (int64_t panel = 0; panel < kPanels; ++panel)
    for (int64_t k = 0; k < kSteps * bf16x3::kStep; ++k)
      for (int64_t column = 0; column < bf16x3::kColumns; ++column) {
        uint16_t expected = k < kRows ? packed[(panel * kPairRows + k / 2) * kRowElements + 2 * column + k % 2] : 0;
        REQUIRE(padded[(panel * kSteps * bf16x3::kPairs + k / 2) * kRowElements + 2 * column + k % 2] == expected);
      }
}

TEST_CASE("numbers have bf16 terms unless their sums could be infinite") {
  auto areSplittable = [](std::vector<float> numbers) {
    return bf16x3::areSplittable({reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float)});
  };
  CHECK(areSplittable({}));
  CHECK(areSplittable({1, -2, 0x1p49f, -0.0f}));
  CHECK_FALSE(areSplittable({1, -0x1p50f}));
  CHECK_FALSE(areSplittable({INFINITY, 1}));
  CHECK_FALSE(areSplittable({1, NAN, 1}));
}

TEST_CASE("bf16x3 pays for some rows and not too large weights") {
  CHECK(bf16x3::findObstacle(196, 112, 672).empty());
  CHECK(bf16x3::findObstacle(49, 160, 960).empty());
  CHECK_FALSE(bf16x3::findObstacle(1, 160, 960).empty());    // a matrix times a vector waits for memory
  CHECK_FALSE(bf16x3::findObstacle(128, 768, 3072).empty()); // 9 MiB: split when they are used
  CHECK_FALSE(bf16x3::findObstacle(3136, 16, 64).empty());   // half of a step would be zeros
}
