//===- ByteWeights.h - weights of bytes that the matrix unit reads --------===//
//
// The unit reads them where instructions for vectors do, in panels [ceil(k / 4)][32 columns][4] of WeightPanels.h: a
// tile is 16 columns of 16 groups of k. So a kernel may have both forms, and its weights have whole steps of k.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace ptc::cpu::bytes {

constexpr int64_t kStep = 64;    ///< k
constexpr int64_t kGroup = 4;    ///< k that lie side by side
constexpr int64_t kColumns = 32; ///< of a panel

/// From how many rows on a product by weights [k][columns] takes less time on the unit than in vectors.
int64_t leastRows(int64_t k, int64_t columns);

/// Why it takes no less time whatever rows there are, of which `rows` are the most; empty where it does.
std::string findObstacle(int64_t rows, int64_t k, int64_t columns);

} // namespace ptc::cpu::bytes
