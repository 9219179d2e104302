//===- WeightPanels.h - weights in panels of columns ----------------------===//
#pragma once

#include "compiler/weights/ByteSource.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace ptc::cpu {

/// A weight seen as [batch][column][k...] with a stride (in elements) for each:
/// what packing reads.
struct WeightView {
  const char *bytes;
  int64_t elementBytes, offset;
  int64_t batches, columns;
  llvm::SmallVector<int64_t> columnSizes, columnStrides; ///< of the dimensions behind a column index
  llvm::SmallVector<int64_t> batchSizes, batchStrides;
  llvm::SmallVector<int64_t> kSizes, kStrides;

  int64_t group = 1; ///< elements of the innermost k that lie side by side: 1, 2 or 4
  int64_t step = 1;  ///< 1, or a multiple of the group: panels have whole ones of the innermost k

  int64_t kCount() const { return llvm::product_of(kSizes); }
  int64_t innerSize() const { return kSizes.empty() ? 1 : kSizes.back(); }
  /// Groups of the innermost k in a panel, and of all k.
  int64_t innerRows() const { return llvm::alignTo(innerSize(), std::max(group, step)) / group; }
  int64_t rows() const { return kCount() / innerSize() * innerRows(); }
};

/// [batch][panel][k / group][panelWidth][group], with zeros beyond the last column and k, by units of
/// [panelWidth][group]. The view's bytes must outlive the answer.
ByteSource pack(const WeightView &view, int64_t panelWidth);

/// Says what pack answers: equal names, equal bytes of the same weight.
std::string getPackedName(const WeightView &view, int64_t panelWidth);

} // namespace ptc::cpu
