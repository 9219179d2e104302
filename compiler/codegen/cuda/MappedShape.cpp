#include "compiler/codegen/cuda/MappedShape.h"

#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace ptc::cuda {

/// Elements of a line of shared memory.
constexpr unsigned kLine = 64;
/// What the estimate is made for: an H100.
constexpr int64_t kMultiprocessors = 132;

namespace {
/// Microseconds, measured on an H100: of a step with 128 keys, and of what comes before and behind a tile's steps.
struct Times {
  double step, tile;
};
/// Of one, two and three warpgroups; with up to 64 features, and with more.
constexpr Times kNarrow[] = {{0.78, 1.2}, {1.07, 2.1}, {1.44, 2.9}}, kWide[] = {{1.14, 1.2}, {1.53, 4.1}};
} // namespace

/// Of the busiest multiprocessor.
static double estimate(int64_t heads, int64_t queries, int64_t keys, bool pairs, const MappedShape &shape,
                       const Times &times) {
  int64_t tiles = divideCeil(queries, shape.rows()), units = heads * (pairs ? divideCeil(tiles, 2) : tiles);
  double steps = divideCeil(keys, shape.keys), time = steps * times.step + times.tile;
  if (pairs) { // both have all keys, and those beside the diagonal twice
    steps += double(shape.rows()) / shape.keys + (shape.rows() % shape.keys ? 1 : 0);
    time = steps * times.step + 2 * times.tile;
  }
  return divideCeil(units, kMultiprocessors) * time;
}

MappedShape chooseMappedShape(const Product &scores, const HeadSizes &sizes, bool pairs) {
  MappedShape shape{};
  shape.features = alignTo(sizes.features, kLine);
  shape.results = alignTo(sizes.results, kLine);
  unsigned most = std::max(shape.features, shape.results);
  ArrayRef<Times> times = most > kLine ? ArrayRef(kWide) : ArrayRef(kNarrow);
  shape.keys = most > 2 * kLine ? 64 : 128;
  shape.groups = times.size();
  auto heads = getConstant(scores.batches), queries = getConstant(scores.m), keys = getConstant(scores.n);
  if (!heads || !queries || !keys)
    return shape;
  auto timeOf = [&](unsigned groups) {
    MappedShape candidate = shape;
    candidate.groups = groups;
    return estimate(*heads, *queries, *keys, pairs, candidate, times[groups - 1]);
  };
  for (unsigned groups = times.size() - 1; groups > 0; --groups)
    if (timeOf(groups) < timeOf(shape.groups))
      shape.groups = groups;
  return shape;
}

} // namespace ptc::cuda
