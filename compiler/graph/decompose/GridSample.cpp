//===- GridSample.cpp - reading an image at places of a grid --------------===//

#include "compiler/graph/decompose/Sample.h"
#include "compiler/graph/decompose/Table.h"

#include <array>

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
enum Interpolation { kBilinear, kNearest, kBicubic };
enum Padding { kZeros, kBorder, kReflection };

/// Where an image [N, C, (D,) H, W] is read, in pixels.
class Sampler {
public:
  Sampler(B &b, T image, Padding padding, bool alignCorners)
      : b(b), image(image), padding(padding), alignCorners(alignCorners) {}

  int64_t spatial() const { return image.rank() - 2; }
  AffineExpr size(int64_t d) const { return image.size(d + 2); }

  /// Grid coordinates in [-1, 1] as pixels.
  T unnormalise(T place, AffineExpr size) {
    T n = b.tensor(T(size), place.dtype());
    return alignCorners ? (place + 1.0) * (n - 1.0) / 2.0 : ((place + 1.0) * n - 1.0) / 2.0;
  }
  /// Moves a place outside to where the padding reads.
  T applyPadding(T place, AffineExpr size) {
    T n = b.tensor(T(size), place.dtype());
    if (padding == kReflection)
      place = alignCorners ? reflect(place, 0.0, n - 1.0) : reflect(place, -0.5, n);
    if (padding == kZeros)
      return place;
    T last = n - 1.0;
    return b.withGradient(b.maximum(b.minimum(place, last), 0.0), place, [&](T grad) { // none at the ends
      return b.where((place > 0.0) & (place < last), grad, 0.0);
    });
  }

private:
  /// Back and forth between low and low + span.
  T reflect(T place, double low, T span) {
    T shifted = place - low, distance = b.abs(shifted);
    distance = b.withGradient(distance, shifted, [&](T grad) { return b.where(shifted < 0.0, -grad, grad); });
    T extra = b.fmod(distance, span);
    T flips = b.floor(distance / span);
    T isEven = b.fmod(flips, 2.0) == 0.0;
    return b.where(span == 0.0, 0.0, b.where(isEven, extra + low, span - extra + low));
  }

  B &b;
  T image;
  Padding padding;
  bool alignCorners;
};
} // namespace

/// Weights of the four neighbours of a place at distance t from the second, as PyTorch computes them: in 16 bits each
/// rounding tells.
static std::array<T, 4> cubicWeights(T t) {
  constexpr double a = -0.75;
  auto near = [&](T d) { return ((a + 2) * d - (a + 3)) * d * d + 1.0; };
  auto far = [&](T d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)};
}

static T sampleBicubic(B &b, Sampler &sampler, T image, T y, T x) {
  T top = b.floor(y), left = b.floor(x), sum;
  auto rows = cubicWeights(y - top), columns = cubicWeights(x - left);
  for (int i = 0; i < 4; ++i) {
    T row = sampler.applyPadding(top + double(i - 1), sampler.size(0)), line;
    for (int j = 0; j < 4; ++j) {
      T column = sampler.applyPadding(left + double(j - 1), sampler.size(1));
      T term = weightedPixels(b, samplePixels(b, image, {row, column}), columns[j]);
      line = line ? line + term : term;
    }
    line = weightedPixels(b, line, rows[i]);
    sum = sum ? sum + line : line;
  }
  return sum;
}

static T gridSample(B &b, T image, T grid, int64_t mode, int64_t padding, bool alignCorners) {
  Sampler sampler(b, image, Padding(padding), alignCorners);
  int64_t spatial = sampler.spatial();
  if (spatial < 1 || spatial > 3)
    throwMisfit("sampling is of images of one to three dimensions");
  b.requireElementsOfLast(image, spatial);
  TList places; // the grid has x first
  for (int64_t d = 0; d < spatial; ++d)
    places.push_back(sampler.unnormalise(b.select(grid, -1, b.size(spatial - 1 - d)), sampler.size(d)));
  if (mode == kBicubic && spatial != 2)
    return b.unsupported("bicubic sampling is of images of two dimensions");
  if (mode == kBicubic)
    return b.moveDim(sampleBicubic(b, sampler, image, places[0], places[1]), -1, 1);
  for (auto [d, place] : llvm::enumerate(places)) {
    place = sampler.applyPadding(place, sampler.size(d));
    place = mode == kNearest ? b.round(place) : place;
  }
  return b.moveDim(mode == kNearest ? samplePixels(b, image, places) : sampleLinear(b, image, places), -1, 1);
}

/// Centres of `n` cells of [-1, 1], or with aligned corners its ends too.
static T gridLine(B &b, AffineExpr n, bool alignCorners, mlir::Type dtype) {
  T count = b.tensor(T(n), dtype), place = b.iota(n, 0, dtype);
  if (!alignCorners)
    return (place * 2.0 + 1.0) / count - 1.0;
  return b.where(count == 1.0, 0.0, place * 2.0 / b.maximum(count - 1.0, 1.0) - 1.0);
}

/// theta [N, s, s + 1] times (x, y, ..., 1) of every place: [N, ..., s].
static T affineGrid(B &b, T theta, Ints size, bool alignCorners) {
  Shape space(size.begin() + 2, size.end());
  int64_t spatial = space.size();
  TList place;
  for (int64_t d = spatial - 1; d >= 0; --d)
    place.push_back(b.broadcastInDim(gridLine(b, space[d], alignCorners, theta.dtype()), space, {d}));
  place.push_back(b.full(space, 1, theta.dtype()));
  T product = b.contract(theta, b.stack(place, -1), {}, {}, {2}, {spatial}); // N, s, ...
  return b.moveDim(product, 1, -1);
}

void addGridSample(Table &t) {
  // PyTorch computes step by step in half types, places too.
  t.def("grid_sampler grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback",
        [](B &b, T image, T grid, int64_t mode, int64_t padding, bool alignCorners) {
          return gridSample(b, image, grid, mode, padding, alignCorners);
        });
  t.opmath("affine_grid_generator",
           [](B &b, T theta, Ints size, bool alignCorners) { return affineGrid(b, theta, size, alignCorners); });
}

} // namespace ptc::decompose
