#include "compiler/codegen/cpu/tile/Tasks.h"

#include "dialects/loop/Tuning.h"

#include <numeric>

namespace ptc::cpu {

TaskRules TaskRules::of(mlir::Operation *op) {
  constexpr int64_t kTaskFlops = 1 << 20, kTasksWanted = 48;
  int64_t grain = loop::getTuning(op, loop::Knob::Grain).value_or(0);
  return {loop::scaleByGrain(kTaskFlops, grain), loop::scaleByGrain(kTasksWanted, -grain)};
}

// In the time of a band of so many rows its weights arrive from memory.
static constexpr int64_t kBandRows = 64;

int64_t rowBands(mlir::Operation *op, int64_t rows, int64_t rowBytes, int64_t weightBytes) {
  int64_t byRule = rows >= 8 * kBandRows ? 4 : rows >= 2 * kBandRows ? 2 : 1;
  constexpr int64_t kManyBytes = 1 << 20;
  if (weightBytes > std::max(rows * rowBytes, kManyBytes))
    byRule = 1;
  return loop::getTuning(op, loop::Knob::Bands).value_or(byRule);
}

int64_t mostRowsInCache(int64_t rowBytes, unsigned l1Ways) {
  constexpr int64_t kWayBytes = 4096;
  return (l1Ways - 1) * (kWayBytes / std::gcd(rowBytes, kWayBytes));
}

unsigned groupOf(const Target &target, mlir::Type element) {
  return target.hasFastBf16Dot() && element.isBF16() ? 2 : 1;
}

} // namespace ptc::cpu
