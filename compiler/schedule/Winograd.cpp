//===- Winograd.cpp -------------------------------------------------------===//

#include "compiler/schedule/Winograd.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace ptc {

// Interpolation at 0, 1, -1 and infinity.
static const double kBt2[] = {1, 0, -1, 0, /**/ 0, 1, 1, 0, /**/ 0, -1, 1, 0, /**/ 0, 1, 0, -1};
static const double kG2[] = {1, 0, 0, /**/ .5, .5, .5, /**/ .5, -.5, .5, /**/ 0, 0, 1};
static const double kAt2[] = {1, 1, 1, 0, /**/ 0, 1, -1, -1};

// At 0, 1, -1, 2, -2 and infinity.
static const double kBt4[] = {4, 0, -5, 0, 1, 0, /**/ 0, -4, -4, 1, 1, 0, /**/ 0, 4, -4, -1, 1, 0,
                              0, -2, -1, 2, 1, 0, /**/ 0, 2, -1, -2, 1, 0, /**/ 0, 4, 0, -5, 0, 1};
static const double kG4[] = {1. / 4,  0,        0,      -1. / 6,  -1. / 6, -1. / 6, -1. / 6, 1. / 6, -1. / 6,
                             1. / 24, 1. / 12, 1. / 6, 1. / 24, -1. / 12, 1. / 6,  0,       0,      1};
static const double kAt4[] = {1, 1, 1,  1, 1,  0, /**/ 0, 1, -1, 2, -2, 0,
                              0, 1, 1, 4, 4, 0, /**/ 0, 1, -1, 8, -8, 1};

const Winograd &Winograd::get(int64_t m) {
  static const Winograd two{2, kBt2, kG2, kAt2}, four{4, kBt4, kG4, kAt4};
  if (m != 2 && m != 4)
    llvm_unreachable("F(2 x 2) and F(4 x 4) are known");
  return m == 2 ? two : four;
}

std::vector<float> transformWeights(const Winograd &winograd, const float *weights, int64_t inputs, int64_t outputs,
                                    int64_t panel) {
  int64_t size = winograd.size(), panels = llvm::divideCeil(outputs, panel);
  std::vector<float> packed(winograd.points() * panels * inputs * panel);
  std::vector<double> half(size * 3);
  for (int64_t c = 0; c < inputs; ++c)
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t i = 0; i < size; ++i)
        for (int64_t x = 0; x < 3; ++x) {
          double sum = 0;
          for (int64_t y = 0; y < 3; ++y)
            sum += winograd.g[i * 3 + y] * weights[((y * 3 + x) * inputs + c) * outputs + o];
          half[i * 3 + x] = sum;
        }
      for (int64_t i = 0; i < size; ++i)
        for (int64_t j = 0; j < size; ++j) {
          double sum = 0;
          for (int64_t x = 0; x < 3; ++x)
            sum += half[i * 3 + x] * winograd.g[j * 3 + x];
          packed[(((i * size + j) * panels + o / panel) * inputs + c) * panel + o % panel] = float(sum);
        }
    }
  return packed;
}

int64_t chooseWinograd(int64_t images, llvm::ArrayRef<int64_t> pixels, int64_t inputs, int64_t outputs) {
  // With few channels transforms cost more than products save.
  if (inputs < 32 || outputs < 32)
    return 0;
  // In cycles of a core: 32 multiplications and additions each, 8 bytes of weights from the outer caches, and an
  // operation on a vector of 16 channels for each load, sum and store of the transforms.
  auto cost = [&](int64_t m) {
    double tiles = double(images) * llvm::divideCeil(pixels[0], m) * llvm::divideCeil(pixels[1], m);
    double points = double((m + 2) * (m + 2));
    double products = tiles * points * inputs * outputs / 32;
    double transforms = tiles * (inputs + outputs) / 16 * points * 5;
    return products * 1.1 + transforms + points * inputs * outputs * 4 / 8;
  };
  double direct = double(images) * pixels[0] * pixels[1] * 9 * inputs * outputs / 32 + 9. * inputs * outputs * 4 / 8;
  return cost(2) * 1.1 < direct ? 2 : 0;
}

} // namespace ptc
