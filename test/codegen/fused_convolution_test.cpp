//===- fused_convolution_test.cpp - what is multiplied by rows, against C++ ===//

#include "test/codegen/Jit.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <random>

using ptc::test::Jit;

namespace {

constexpr int64_t kImages = 2, kHeight = 23, kWidth = 9, kInputs = 3, kChannels = 20, kPanel = 16;

std::vector<float> randoms(size_t n) {
  static std::mt19937 generator(7);
  std::uniform_real_distribution<float> range(-1, 1);
  std::vector<float> values(n);
  for (float &v : values)
    v = range(generator);
  return values;
}

struct Shape {
  int64_t taps, stride, low, dilation;
  int64_t outputs(int64_t size) const { return (size + 2 * low - dilation * (taps - 1) - 1) / stride + 1; }
};

std::string tensor(std::initializer_list<int64_t> sizes) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

std::string module(const Shape &s) {
  std::string x = tensor({kImages, kHeight, kWidth, kInputs}), w = tensor({2, kInputs, kPanel});
  std::string rows = tensor({kImages, kHeight, kWidth, kChannels}), d = tensor({s.taps, s.taps, 1, kChannels});
  std::string y = tensor({kImages, s.outputs(kHeight), s.outputs(kWidth), kChannels});
  auto pair = [](int64_t n) { return "array<i64: " + std::to_string(n) + ", " + std::to_string(n) + ">"; };
  return "#rows = affine_map<(n, h, w, c, k) -> (n, h, w, k)>\n#any = affine_map<(n, h, w, c, k) -> (0, 0, 0)>\n"
         "module {\nfunc.func @forward(%x: " +
         x + ", %w: " + w + ", %d: " + d +
         ") {\n"
         "%y = loop.kernel \"fused\" outer 0 (%x, %w, %d) {\n^bb0(%a: " +
         x + ", %b: " + w + ", %e: " + d +
         "):\n"
         "%p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: " +
         std::to_string(kInputs) +
         "> {\n"
         "^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):\n%s = arith.addf %acc, %acc : f32\n"
         "loop.yield %s : f32\n} {rhs_panel = " +
         std::to_string(kPanel) + " : i64} : " + x + ", " + w + " -> " + rows +
         "\n%q = loop.convolution %p, %e {\n^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):\n"
         "loop.yield %acc : f32\n} {dilations = " +
         pair(s.dilation) + ", groups = " + std::to_string(kChannels) + " : i64, high = " + pair(s.low) +
         ", kernel = " + pair(s.taps) + ", low = " + pair(s.low) + ", strides = " + pair(s.stride) + "} : " + rows +
         ", " + d + " -> " + y + "\nloop.yield %q : " + y + "\n} : (" + x + ", " + w + ", " + d + ") -> " + y +
         "\nreturn\n}\n}\n";
}

} // namespace

TEST_CASE("rows of a product are made for the bands of a depthwise convolution") {
  Shape s = GENERATE(Shape{3, 1, 1, 1}, Shape{3, 2, 1, 1}, Shape{5, 1, 2, 1}, Shape{5, 2, 2, 1}, Shape{3, 1, 2, 2},
                     Shape{1, 2, 0, 1}, Shape{3, 1, 0, 1});
  Jit jit(module(s));
  CHECK(jit.tasks() > 8); // in two ranges: bands that follow one that scratch has, and bands that do not
  std::vector<float> x = randoms(kImages * kHeight * kWidth * kInputs), w = randoms(2 * kInputs * kPanel);
  std::vector<float> d = randoms(s.taps * s.taps * kChannels);
  int64_t height = s.outputs(kHeight), width = s.outputs(kWidth);
  std::vector<float> y(kImages * height * width * kChannels + 1, 99);
  CHECK(jit.run({x.data(), w.data(), d.data(), y.data()}) == 0);
  CHECK(y.back() == 99);
  auto product = [&](int64_t n, int64_t h, int64_t v, int64_t c) {
    double sum = 0;
    for (int64_t k = 0; k < kInputs; ++k)
      sum += double(x[((n * kHeight + h) * kWidth + v) * kInputs + k]) *
             w[(c / kPanel * kInputs + k) * kPanel + c % kPanel];
    return 2 * sum;
  };
  for (int64_t i = 0; i + 1 < int64_t(y.size()); ++i) {
    int64_t c = i % kChannels, v = i / kChannels % width, h = i / kChannels / width % height;
    int64_t n = i / kChannels / width / height;
    double sum = 0;
    for (int64_t th = 0; th < s.taps; ++th)
      for (int64_t tv = 0; tv < s.taps; ++tv) {
        int64_t ih = h * s.stride + th * s.dilation - s.low, iv = v * s.stride + tv * s.dilation - s.low;
        if (ih >= 0 && ih < kHeight && iv >= 0 && iv < kWidth)
          sum += product(n, ih, iv, c) * d[(th * s.taps + tv) * kChannels + c];
      }
    INFO("image " << n << ", row " << h << ", pixel " << v << ", channel " << c);
    REQUIRE(std::abs(y[i] - sum) < 1e-4);
  }
}
