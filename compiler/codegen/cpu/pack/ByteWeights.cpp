#include "compiler/codegen/cpu/pack/ByteWeights.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace ptc::cpu::bytes {

int64_t leastRows(int64_t k, int64_t columns) {
  // Below these, shaping the tiles, copying the rows, and products that pass through memory take what is won.
  constexpr int64_t kLeastRows = 16, kLeastProducts = 1 << 19;
  return std::max<int64_t>(kLeastRows, llvm::divideCeil(kLeastProducts, k * columns));
}

std::string findObstacle(int64_t rows, int64_t k, int64_t columns) {
  constexpr int64_t kLeastK = 64, kLeastColumns = 32;
  if (k < kLeastK)
    return llvm::formatv("k = {0}, less than {1}", k, kLeastK);
  if (columns < kLeastColumns)
    return llvm::formatv("n = {0}, less than {1}", columns, kLeastColumns);
  int64_t least = leastRows(k, columns);
  return rows < least ? llvm::formatv("m is less than {0}", least).str() : "";
}

} // namespace ptc::cpu::bytes
