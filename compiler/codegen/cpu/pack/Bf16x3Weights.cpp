#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"

#include "dialects/loop/Reasons.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ptc::cpu::bf16x3 {

/// The terms of a row of columns; `place` is 0 or 1 in a pair. Cut off, not rounded, as MatrixUnit.cpp does.
static void splitRow(const float *from, uint16_t *to, int64_t place) {
  for (int64_t column = 0; column < kColumns; ++column) {
    float left = from[column];
    for (int64_t term = 0; term < kTerms; ++term) {
      uint32_t bits;
      std::memcpy(&bits, &left, sizeof bits);
      to[term * kTermElements + 2 * column + place] = bits >> 16;
      bits &= 0xffff0000;
      float high;
      std::memcpy(&high, &bits, sizeof high);
      left -= high;
    }
  }
}

bool areSplittable(llvm::ArrayRef<char> numbers) {
  bool result = true;
  for (; !numbers.empty(); numbers = numbers.drop_front(sizeof(float))) {
    float number;
    std::memcpy(&number, numbers.data(), sizeof number);
    result &= std::abs(number) < kLargest; // false for NaN
  }
  return result;
}

ByteSource split(ByteSource packed, int64_t k) {
  constexpr uint64_t kRowBytes = kColumns * sizeof(float), kStepBytes = kStepElements * sizeof(uint16_t);
  int64_t steps = llvm::divideCeil(k, kStep), panels = packed.size / (k * kRowBytes);
  auto make = [=](uint64_t first, llvm::MutableArrayRef<char> to) {
    for (int64_t next = first; !to.empty(); ++next, to = to.drop_front(kStepBytes)) {
      int64_t begin = next % steps * kStep, count = std::min(kStep, k - begin);
      float rows[kStep * kColumns] = {};
      packed.make(next / steps * k + begin, {reinterpret_cast<char *>(rows), count * kRowBytes});
      uint16_t step[kStepElements];
      for (int64_t row = 0; row < kStep; ++row)
        splitRow(rows + row * kColumns, step + row % kPairs * 2 * kColumns, row / kPairs);
      std::memcpy(to.data(), step, kStepBytes);
    }
  };
  return {panels * steps * kStepBytes, kStepBytes, make};
}

ByteSource padSteps(ByteSource packed, int64_t k) {
  constexpr uint64_t kRowBytes = 2 * kColumns * sizeof(uint16_t), kStepBytes = kTermElements * sizeof(uint16_t);
  int64_t rows = llvm::divideCeil(k, 2), steps = llvm::divideCeil(k, kStep), panels = packed.size / (rows * kRowBytes);
  auto make = [=](uint64_t first, llvm::MutableArrayRef<char> to) {
    for (int64_t next = first; !to.empty(); ++next, to = to.drop_front(kStepBytes)) {
      int64_t begin = next % steps * kPairs, count = std::min(kPairs, rows - begin);
      packed.make(next / steps * rows + begin, to.take_front(count * kRowBytes));
      std::memset(to.data() + count * kRowBytes, 0, kStepBytes - count * kRowBytes);
    }
  };
  return {panels * steps * kStepBytes, kStepBytes, make};
}

/// Sizes below the least ones that pay.
static std::string findSmallSize(int64_t rows, int64_t k, int64_t columns, int64_t leastRows, int64_t leastK,
                                 int64_t leastColumns, int64_t leastFlops) {
  if (rows < leastRows)
    return llvm::formatv("m = {0}, less than {1}", rows, leastRows);
  if (k < leastK)
    return llvm::formatv("k = {0}, less than {1}", k, leastK);
  if (columns < leastColumns)
    return llvm::formatv("n = {0}, less than {1}", columns, leastColumns);
  int64_t flops = 2 * rows * k * columns;
  return flops < leastFlops ? loop::describeFlops(flops) + ", less than " + loop::describeFlops(leastFlops) : "";
}

std::string findObstacle(int64_t rows, int64_t k, int64_t columns) {
  // Below these, splitting the rows and zeros beyond k and columns take what is won.
  constexpr int64_t kLeastRows = 33, kLeastK = 64, kLeastColumns = 64, kLeastFlops = 2 << 20;
  std::string small = findSmallSize(rows, k, columns, kLeastRows, kLeastK, kLeastColumns, kLeastFlops);
  if (!small.empty())
    return small;
  // The terms of long rows come from L2 again for each panel, which few rows do not hide.
  constexpr int64_t kFewRows = 64;
  if (rows < kFewRows && k > 2 * columns)
    return llvm::formatv("the bf16 terms of k = {0} would come from L2 again for each panel of {1} rows", k, rows);
  // More bytes from memory want more rows.
  constexpr int64_t kBytes = 1 << 20, kBytesOfRow = 12 << 10, kMostBytes = 5 << 19;
  int64_t bytes = k * columns * int64_t(sizeof(float));
  int64_t most = std::min(std::max(kBytes, rows * kBytesOfRow), kMostBytes);
  return bytes <= most ? ""
                       : llvm::formatv("{0} of weights exceed the {1} whose bf16 terms {2} rows pay for",
                                       loop::describeBytes(bytes), loop::describeBytes(most), rows)
                             .str();
}

std::string findObstacleInBf16(int64_t rows, int64_t k, int64_t columns) {
  // Below these, zeros beyond rows, k and columns, and products that pass through memory, take what is won.
  constexpr int64_t kLeastRows = 8, kLeastK = 64, kLeastColumns = 32, kLeastFlops = 1 << 20;
  return findSmallSize(rows, k, columns, kLeastRows, kLeastK, kLeastColumns, kLeastFlops);
}

} // namespace ptc::cpu::bf16x3
