//===- GridSample.cpp - reading an image at places of a grid --------------===//

#include "compiler/graph/decompose/Resize.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
enum Interpolation { kBilinear, kNearest, kBicubic };
enum Padding { kZeros, kBorder, kReflection };

/// image [N, C, H, W] at places y, x [N, H', W'], in pixels.
class Sampler {
public:
  Sampler(B &b, T image, Padding padding, bool alignCorners)
      : b(b), image(image), padding(padding), alignCorners(alignCorners) {}

  /// Grid coordinates in [-1, 1] as pixels.
  T unnormalise(T place, AffineExpr size) {
    T n = b.tensor(T(size), place.dtype());
    return alignCorners ? (place + 1.0) * (n - 1.0) / 2.0 : ((place + 1.0) * n - 1.0) / 2.0;
  }
  /// Moves a place outside to where the padding reads.
  T settle(T place, AffineExpr size) {
    T n = b.tensor(T(size), place.dtype());
    if (padding == kReflection)
      place = alignCorners ? reflect(place, 0.0, n - 1.0) : reflect(place, -0.5, n);
    return padding == kZeros ? place : b.maximum(b.minimum(place, n - 1.0), 0.0);
  }
  /// The pixels at whole places; zero outside. [N, H', W', C]
  T at(T y, T x) {
    T rows = T(image.size(2)), columns = T(image.size(3));
    T inside = (y >= 0.0) & (y < b.to(b.tensor(rows, b.i64()), y.dtype())) & (x >= 0.0) &
               (x < b.to(b.tensor(columns, b.i64()), x.dtype()));
    T row = index(y, image.size(2)), column = index(x, image.size(3));
    T sample = b.iota(row.sizes(), 0, b.i64());
    T pixels = b.gather(image, {sample, row, column}, {0, 2, 3});
    return b.where(b.unsqueeze(inside, -1), pixels, 0.0);
  }

private:
  T index(T place, AffineExpr size) {
    return b.clamp(b.to(b.where(b.isFinite(place), place, 0.0), b.i64()), T(0), T(size - 1));
  }
  /// Back and forth between low and low + span.
  T reflect(T place, double low, T span) {
    T distance = b.abs(place - low), extra = b.fmod(distance, span);
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

static T weighted(B &b, T pixels, T weight) { return pixels * b.unsqueeze(weight, -1); }

static T sampleBilinear(B &b, Sampler &sampler, T y, T x) {
  T top = b.floor(y), left = b.floor(x), down = y - top, right = x - left;
  return weighted(b, sampler.at(top, left), (1.0 - down) * (1.0 - right)) +
         weighted(b, sampler.at(top, left + 1.0), (1.0 - down) * right) +
         weighted(b, sampler.at(top + 1.0, left), down * (1.0 - right)) +
         weighted(b, sampler.at(top + 1.0, left + 1.0), down * right);
}

static T sampleBicubic(B &b, Sampler &sampler, T image, T y, T x) {
  T top = b.floor(y), left = b.floor(x), sum;
  auto rows = cubicWeights(y - top), columns = cubicWeights(x - left);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      T row = sampler.settle(top + double(i - 1), image.size(2));
      T column = sampler.settle(left + double(j - 1), image.size(3));
      T term = weighted(b, sampler.at(row, column), rows[i] * columns[j]);
      sum = sum ? sum + term : term;
    }
  return sum;
}

static T gridSample(B &b, T image, T grid, int64_t mode, int64_t padding, bool alignCorners) {
  if (image.rank() != 4)
    return b.unsupported("only images of two dimensions are supported");
  Sampler sampler(b, image, Padding(padding), alignCorners);
  T x = sampler.unnormalise(b.select(grid, -1, b.size(0)), image.size(3));
  T y = sampler.unnormalise(b.select(grid, -1, b.size(1)), image.size(2));
  T sampled;
  if (mode == kBicubic) {
    sampled = sampleBicubic(b, sampler, image, y, x);
  } else {
    x = sampler.settle(x, image.size(3));
    y = sampler.settle(y, image.size(2));
    sampled = mode == kNearest ? sampler.at(b.round(y), b.round(x)) : sampleBilinear(b, sampler, y, x);
  }
  return b.moveDim(sampled, -1, 1);
}

/// Centres of `n` cells of [-1, 1], or with aligned corners its ends too.
static T gridLine(B &b, AffineExpr n, bool alignCorners, mlir::Type dtype) {
  T count = b.tensor(T(n), dtype), place = b.iota(n, 0, dtype);
  if (!alignCorners)
    return (place * 2.0 + 1.0) / count - 1.0;
  return b.where(count == 1.0, 0.0, place * 2.0 / b.maximum(count - 1.0, 1.0) - 1.0);
}

/// theta [N, 2, 3] times (x, y, 1) of every place: [N, H, W, 2].
static T affineGrid(B &b, T theta, Ints size, bool alignCorners) {
  if (size.size() != 4)
    return b.unsupported("only images of two dimensions are supported");
  Shape plane{size[2], size[3]};
  T x = b.broadcastInDim(gridLine(b, size[3], alignCorners, theta.dtype()), plane, {1});
  T y = b.broadcastInDim(gridLine(b, size[2], alignCorners, theta.dtype()), plane, {0});
  T place = b.stack({x, y, b.full(plane, 1, theta.dtype())}, -1);
  T product = b.contract(theta, place, {}, {}, {2}, {2}); // N, 2, H, W
  return b.moveDim(product, 1, -1);
}

void addGridSample(Table &t) {
  t.opmath("grid_sampler grid_sampler_2d _grid_sampler_2d_cpu_fallback",
           [](B &b, T image, T grid, int64_t mode, int64_t padding, bool alignCorners) {
             return gridSample(b, image, grid, mode, padding, alignCorners);
           });
  t.opmath("affine_grid_generator",
           [](B &b, T theta, Ints size, bool alignCorners) { return affineGrid(b, theta, size, alignCorners); });
}

} // namespace ptc::decompose
