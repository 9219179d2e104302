//===- Winograd.h - minimal filtering of 3 x 3 kernels --------------------===//
//
// Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016): a
// tile of m x m outputs of a 3 x 3 convolution with stride 1 is
//
//   Y = A^T [(G g G^T) * (B^T d B)] A        d: (m + 2) x (m + 2) inputs
//
// where * is elementwise, and summed over the input channels before A is
// applied. The sums are (m + 2)^2 matrix products, with (m + 2)^2 / (9 m^2) of
// the direct form's multiplications. Of a convolution over frames, with kernels of
// t x 3 x 3, the t frames that an output frame is made of are so many times the
// channels: the sums run over [t][C].
//
// Rounding errors are relative to all inputs of a tile, those of the direct form to
// what an output sees. So a tile where this is much smaller is computed directly.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "dialects/core/SymbolicShape.h"
#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptc::cpu {

/// The sum of squares of a tile's inputs is at most so many times that of what each of its outputs sees, and below
/// this: sums in between do not overflow.
constexpr float kSquaresToSeen = 0x1p10f, kLargestSquares = 0x1p100f;

/// F(m x m, 3 x 3). Matrices are row-major.
struct Winograd {
  int64_t m;
  llvm::ArrayRef<double> bt; ///< [m + 2][m + 2]
  llvm::ArrayRef<double> g;  ///< [m + 2][3]
  llvm::ArrayRef<double> at; ///< [m][m + 2]

  int64_t size() const { return m + 2; }
  int64_t points() const { return size() * size(); }

  /// m is 2 or 4.
  static const Winograd &get(int64_t m);
};

/// G g G^T of weights [t][3][3][C][O], in panels: [ceil(O / panel)][points][t][C][panel]. Behind them, for the direct
/// form, are the weights as they were: [ceil(O / panel)][t][3 x 3][C][panel].
std::vector<float> transformWeights(const Winograd &winograd, const float *weights, int64_t frames, int64_t inputs,
                                    int64_t outputs, int64_t panel);

struct WinogradChoice {
  int64_t m; ///< 0: the direct form
  std::string because;
  int64_t leastTiles = 0; ///< of m x m outputs: fewer take less time by the direct form
};

/// The m with which a 3 x 3 convolution with stride 1 of these sizes takes the least time.
/// `images`: or frames of the output; `pixels`: of one, in height and width. `inputs`: t C. `lanes`: floats of a vector
/// register. `most`: no larger m.
WinogradChoice chooseWinograd(int64_t images, llvm::ArrayRef<int64_t> pixels, int64_t inputs, int64_t outputs,
                              int64_t lanes, bool matrixUnit = false, int64_t most = 4);

/// Images (or frames of all images), height and width; null: a call tells.
using ImageSizes = std::array<std::optional<int64_t>, 3>;
/// Of outputs [N, (frames,) height, width, channels].
ImageSizes getImageSizes(ShapeRef y);

/// The same of images of which calls tell the number, or height and width.
WinogradChoice chooseWinograd(const ImageSizes &sizes, int64_t inputs, int64_t outputs, int64_t lanes);

} // namespace ptc::cpu
