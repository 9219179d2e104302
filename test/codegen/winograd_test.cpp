// Minimal filtering against the direct form, tile by tile.

#include "compiler/codegen/cpu/pack/Winograd.h"

#include "llvm/Support/MathExtras.h"

#include <catch2/catch.hpp>

#include <random>

using namespace ptc::cpu;

/// left [rows][n] * values [n][columns] * right^T, right [columns' ][columns].
static std::vector<double> sandwich(llvm::ArrayRef<double> left, int64_t rows, const std::vector<double> &values,
                                    int64_t n) {
  std::vector<double> half(rows * n), result(rows * rows);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < n; ++k)
        half[i * n + j] += left[i * n + k] * values[k * n + j];
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t k = 0; k < n; ++k)
        result[i * rows + j] += half[i * n + k] * left[j * n + k];
  return result;
}

TEST_CASE("a tile is what the direct convolution gives") {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  int64_t m = GENERATE(2, 4);
  const Winograd &winograd = Winograd::get(m);
  const int64_t frames = 2, channels = 3, inputs = frames * channels, outputs = 5, panel = 4, panels = 2;
  const int64_t n = winograd.size();
  REQUIRE(n == m + 2);

  std::vector<float> weights(9 * inputs * outputs);
  for (float &weight : weights)
    weight = uniform(random);
  std::vector<float> packed = transformWeights(winograd, weights.data(), frames, channels, outputs, panel);
  REQUIRE(int64_t(packed.size()) == (winograd.points() + 9) * panels * inputs * panel);

  std::vector<std::vector<double>> tiles(inputs, std::vector<double>(n * n)), transformed;
  for (auto &tile : tiles) {
    for (double &value : tile)
      value = uniform(random);
    transformed.push_back(sandwich(winograd.bt, n, tile, n));
  }
  for (int64_t o = 0; o < outputs; ++o) {
    std::vector<double> products(n * n);
    for (int64_t point = 0; point < n * n; ++point)
      for (int64_t c = 0; c < inputs; ++c)
        products[point] += transformed[c][point] *
                           packed[((o / panel * winograd.points() + point) * inputs + c) * panel + o % panel];
    std::vector<double> tile = sandwich(winograd.at, m, products, n);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < m; ++j) {
        double direct = 0;
        for (int64_t y = 0; y < 3; ++y)
          for (int64_t x = 0; x < 3; ++x)
            for (int64_t t = 0; t < frames; ++t)
              for (int64_t c = 0; c < channels; ++c)
                direct += tiles[t * channels + c][(i + y) * n + j + x] *
                          weights[(((t * 3 + y) * 3 + x) * channels + c) * outputs + o];
        CHECK(tile[i * m + j] == Approx(direct).margin(1e-5));
      }
  }
  // The weights themselves lie behind.
  const float *direct = packed.data() + winograd.points() * panels * inputs * panel;
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t tap = 0; tap < 9; ++tap)
      for (int64_t t = 0; t < frames; ++t)
        for (int64_t c = 0; c < channels; ++c)
          CHECK(direct[(((o / panel * frames + t) * 9 + tap) * channels + c) * panel + o % panel] ==
                weights[((t * 9 + tap) * channels + c) * outputs + o]);
  // Columns beyond the last output.
  for (int64_t point = 0; point < n * n; ++point)
    for (int64_t c = 0; c < inputs; ++c)
      CHECK(packed[((n * n + point) * inputs + c) * panel + 3] == 0);
}

TEST_CASE("the direct form stays where transforms or weights cost more than products save") {
  for (int64_t lanes : {8, 16}) {
    CHECK(chooseWinograd(1, {56, 56}, 64, 64, lanes).m == 4);
    CHECK(chooseWinograd(1, {7, 7}, 512, 512, lanes).m == 2);
    CHECK(chooseWinograd(1, {56, 56}, 3, 64, lanes).m == 0);
    CHECK(chooseWinograd(1, {2, 2}, 512, 512, lanes).m == 0);
  }
}

TEST_CASE("products weigh more against weights where vectors are short") {
  CHECK(chooseWinograd(1, {14, 14}, 512, 512, 8).m == 4);
  CHECK(chooseWinograd(1, {14, 14}, 512, 512, 16).m == 2);
}

TEST_CASE("of images whose sizes calls tell, those of more tiles than the least take minimal filtering") {
  for (int64_t channels : {32, 64, 256, 512}) {
    WinogradChoice open = chooseWinograd({1, std::nullopt, std::nullopt}, channels, channels, 16);
    REQUIRE(open.m > 0);
    for (int64_t size = 1; size <= 64; ++size)
      if (int64_t tiles = llvm::divideCeil(size, open.m); tiles * tiles > open.leastTiles)
        CHECK(chooseWinograd(1, {size, size}, channels, channels, 16).m > 0);
  }
  CHECK(chooseWinograd({1, std::nullopt, std::nullopt}, 512, 512, 16).leastTiles > 1);
  CHECK(chooseWinograd({std::nullopt, 56, 56}, 64, 64, 16).leastTiles == 0);
  CHECK(chooseWinograd({1, std::nullopt, std::nullopt}, 3, 64, 16).m == 0);
}
