//===- WeightPieces.cpp ---------------------------------------------------===//

#include "compiler/schedule/WeightPieces.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

namespace ptc::pieces {

/// The pieces of a row of columns; `place` is 0 or 1 in a pair. Cut off, not rounded, as MatrixUnit.cpp does.
static void splitRow(const float *from, uint16_t *to, int64_t place) {
  for (int64_t column = 0; column < kColumns; ++column) {
    float left = from[column];
    for (int64_t piece = 0; piece < kPieces; ++piece) {
      uint32_t bits;
      std::memcpy(&bits, &left, sizeof bits);
      to[piece * kPieceElements + 2 * column + place] = bits >> 16;
      bits &= 0xffff0000;
      float high;
      std::memcpy(&high, &bits, sizeof high);
      left -= high;
    }
  }
}

std::vector<uint16_t> split(llvm::ArrayRef<float> packed, int64_t k) {
  int64_t panels = packed.size() / (k * kColumns), steps = llvm::divideCeil(k, kStep);
  std::vector<uint16_t> result(panels * steps * kStepElements);
  for (int64_t panel = 0; panel < panels; ++panel)
    for (int64_t row = 0; row < k; ++row) {
      int64_t step = panel * steps + row / kStep, pair = row % kPairs, place = row % kStep / kPairs;
      splitRow(&packed[(panel * k + row) * kColumns], &result[step * kStepElements + pair * 2 * kColumns], place);
    }
  return result;
}

bool pays(int64_t rows, int64_t k, int64_t columns) {
  // Below these, splitting the rows and zeros beyond k and columns take what is won.
  constexpr int64_t kLeastRows = 33, kLeastK = 64, kLeastColumns = 64, kLeastFlops = 2 << 20;
  if (rows < kLeastRows || k < kLeastK || columns < kLeastColumns || 2 * rows * k * columns < kLeastFlops)
    return false;
  // The pieces of long rows come from L2 again for each panel, which few rows do not hide.
  constexpr int64_t kFewRows = 64;
  if (rows < kFewRows && k > 2 * columns)
    return false;
  // More bytes from memory want more rows.
  constexpr int64_t kBytes = 1 << 20, kBytesOfRow = 12 << 10, kMostBytes = 5 << 19;
  return k * columns * int64_t(sizeof(float)) <= std::min(std::max(kBytes, rows * kBytesOfRow), kMostBytes);
}

} // namespace ptc::pieces
