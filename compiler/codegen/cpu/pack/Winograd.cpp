#include "compiler/codegen/cpu/pack/Winograd.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <array>

namespace ptc::cpu {

// Interpolation at 0, 1, -1 and infinity.
static const double kBt2[] = {1, 0, -1, 0, /**/ 0, 1, 1, 0, /**/ 0, -1, 1, 0, /**/ 0, 1, 0, -1};
static const double kG2[] = {1, 0, 0, /**/ .5, .5, .5, /**/ .5, -.5, .5, /**/ 0, 0, 1};
static const double kAt2[] = {1, 1, 1, 0, /**/ 0, 1, -1, -1};

// At 0, a, -a, b, -b and infinity. With a = 1 and b = 2, as it is usually written, rounding errors are 5 to 6 times
// those of the direct form and with these points 2.5 times (64 to 256 channels, sums one by one); bt and at are exact
// in binary.
static constexpr double a = 5. / 8, b = 3. / 2, a2 = a * a, b2 = b * b, fa = 2 * a2 * (a2 - b2),
                        fb = 2 * b2 * (b2 - a2);
static const double kBt4[] = {a2 * b2, 0,     -a2 - b2, 0,  1, 0, /**/ 0, -a *b2, -b2, a,        1, 0,
                              /**/ 0,  a *b2, -b2,      -a, 1, 0, 0,      -b *a2, -a2, b,        1, 0,
                              /**/ 0,  b *a2, -a2,      -b, 1, 0, /**/ 0, a2 *b2, 0,   -a2 - b2, 0, 1};
static const double kG4[] = {1 / (a2 * b2), 0,      0,       1 / fa, a / fa,  a2 / fa, 1 / fa, -a / fa, a2 / fa,
                             1 / fb,        b / fb, b2 / fb, 1 / fb, -b / fb, b2 / fb, 0,      0,       1};
static const double kAt4[] = {1, 1,  1,  1,  1,  0, /**/ 0, a,     -a,     b,     -b,     0,
                              0, a2, a2, b2, b2, 0, /**/ 0, a *a2, -a *a2, b *b2, -b *b2, 1};

const Winograd &Winograd::get(int64_t m) {
  static const Winograd two{2, kBt2, kG2, kAt2}, four{4, kBt4, kG4, kAt4};
  if (m != 2 && m != 4)
    llvm_unreachable("F(2 x 2) and F(4 x 4) are known");
  return m == 2 ? two : four;
}

std::vector<float> transformWeights(const Winograd &winograd, const float *weights, int64_t frames, int64_t inputs,
                                    int64_t outputs, int64_t panel) {
  int64_t size = winograd.size(), panels = llvm::divideCeil(outputs, panel), rows = frames * inputs;
  std::vector<float> packed((winograd.points() + 9) * panels * rows * panel);
  float *direct = packed.data() + winograd.points() * panels * rows * panel;
  std::vector<double> half(size * 3);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t o = 0; o < outputs; ++o) {
      const float *kernel = weights + (row / inputs * 9 * inputs + row % inputs) * outputs + o;
      for (int64_t tap = 0; tap < 9; ++tap) {
        int64_t place = ((o / panel * frames + row / inputs) * 9 + tap) * inputs + row % inputs;
        direct[place * panel + o % panel] = kernel[tap * inputs * outputs];
      }
      for (int64_t i = 0; i < size; ++i)
        for (int64_t x = 0; x < 3; ++x) {
          double sum = 0;
          for (int64_t y = 0; y < 3; ++y)
            sum += winograd.g[i * 3 + y] * kernel[(y * 3 + x) * inputs * outputs];
          half[i * 3 + x] = sum;
        }
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) {
          double sum = 0;
          for (int64_t x = 0; x < 3; ++x)
            sum += half[i * 3 + x] * winograd.g[j * 3 + x];
          packed[((o / panel * winograd.points() + i * size + j) * rows + row) * panel + o % panel] = float(sum);
        }
    }
  return packed;
}

WinogradChoice chooseWinograd(int64_t images, llvm::ArrayRef<int64_t> pixels, int64_t inputs, int64_t outputs,
                              int64_t lanes, bool matrixUnit, int64_t most) {
  // With few channels transforms cost more than products save.
  constexpr int64_t kFewInputs = 8, kFewOutputs = 8;
  if (inputs < kFewInputs || outputs < kFewOutputs)
    return {0, llvm::formatv("{0} to {1} channels: minimal filtering pays from {2} to {3}", inputs, outputs, kFewInputs,
                             kFewOutputs)};
  // In cycles of a core: two vectors of multiplications and additions each, 8 bytes of weights from the outer caches,
  // in part at the same time, and an operation on a vector of channels for each load, sum and store of the transforms.
  auto together = [](double x, double y) { return std::max(x, y) + 0.7 * std::min(x, y); };
  auto weights = [&](int64_t points) { return double(points) * inputs * outputs * 4 / 8; };
  auto vectors = [&](int64_t channels) { return int64_t(llvm::divideCeil(channels, lanes)); };
  auto products = [&](double count) { return count * inputs * vectors(outputs) / 2; };
  auto cost = [&](int64_t m) {
    double tiles = double(images) * llvm::divideCeil(pixels[0], m) * llvm::divideCeil(pixels[1], m);
    int64_t points = (m + 2) * (m + 2);
    double transforms = tiles * double(vectors(inputs) + vectors(outputs)) * points * 5;
    return together(products(tiles * points) * 1.1, weights(points)) + transforms;
  };
  double direct = together(products(double(images) * pixels[0] * pixels[1] * 9), weights(9));
  if (matrixUnit) {
    // 32 output channels of a row of 32 pixels (the padding's among them) at twice the rate, once weights are split.
    double rows = double(images) * llvm::alignTo(pixels[0] * (pixels[1] + 2), 32);
    direct = std::min(direct, together(products(rows * 9) / 2, weights(9) * 2));
  }
  // What rounds more has to be clearly faster.
  constexpr double kClearly = 1.1;
  int64_t best = most >= 4 && cost(4) * kClearly < cost(2) ? 4 : 2;
  return {cost(best) * kClearly < direct ? best : 0,
          llvm::formatv("estimated cycles: direct {0}, minimal filtering F(2x2) {1}, F(4x4) {2}", int64_t(direct),
                        int64_t(cost(2)), int64_t(cost(4)))};
}

ImageSizes getImageSizes(ShapeRef y) {
  return {getConstant(product(y.drop_back(3), y.front().getContext())), getConstant(y[y.size() - 3]),
          getConstant(y[y.size() - 2])};
}

WinogradChoice chooseWinograd(const ImageSizes &sizes, int64_t inputs, int64_t outputs, int64_t lanes) {
  constexpr int64_t kLarge = 64;
  bool isImageKnown = sizes[1] && sizes[2];
  // An image may be small, and then the time of weights that come from memory is all: 6 x 3 pixels of five images by
  // 512 to 512 channels take F(4x4) 2 to 4 times as long as F(2x2) (Zen 3).
  constexpr int64_t kMostWeightBytes = 16 << 20;
  bool isHeavy = Winograd::get(4).points() * inputs * outputs * int64_t(sizeof(float)) > kMostWeightBytes;
  int64_t most = isHeavy && !isImageKnown ? 2 : 4;
  // What is open grows; the number of images where it alone is.
  auto at = [&](int64_t size) {
    return std::array<int64_t, 3>{sizes[0].value_or(isImageKnown ? size : 1), sizes[1].value_or(size),
                                  sizes[2].value_or(size)};
  };
  auto choose = [&](const std::array<int64_t, 3> &known) {
    return chooseWinograd(known[0], llvm::ArrayRef(known).drop_front(), inputs, outputs, lanes, /*matrixUnit=*/false,
                          most);
  };
  WinogradChoice choice = choose(at(kLarge));
  for (int64_t size = kLarge; choice.m && size-- > 1;)
    if (!choose(at(size)).m) {
      auto [images, height, width] = at(size + 1);
      choice.leastTiles = images * llvm::divideCeil(height, choice.m) * llvm::divideCeil(width, choice.m);
      break;
    }
  if (choice.m)
    choice.because = llvm::formatv("minimal filtering F({0}x{0}) of {1} tiles or more, which a call tells", choice.m,
                                   std::max<int64_t>(1, choice.leastTiles));
  return choice;
}

} // namespace ptc::cpu
