//===- Embedding.cpp - bags of rows of a table ----------------------------===//

#include "compiler/graph/decompose/Norm.h"
#include "compiler/graph/decompose/Table.h"

#include <limits>

namespace ptc::decompose {

using mlir::AffineExpr;

enum BagMode { kSum, kMean, kMax };

namespace {
struct Bags {
  int64_t mode;
  OptT sampleWeights;
  std::optional<int64_t> padding; ///< An index that counts for nothing.
};
} // namespace

/// indices [bags, length]: every bag is a row.
static T reduceRows(B &b, T weight, T indices, const Bags &bags) {
  T rows = b.gather(weight, {indices}, {0}); // bags, length, features
  T counts;
  if (bags.sampleWeights)
    rows = rows * b.unsqueeze(b.reshape(*bags.sampleWeights, indices.sizes()), -1);
  if (bags.padding) {
    T isCounted = indices != *bags.padding;
    double nothing = bags.mode == kMax ? -std::numeric_limits<double>::infinity() : 0;
    rows = b.where(b.unsqueeze(isCounted, -1), rows, nothing);
    counts = b.unsqueeze(b.sum(b.to(isCounted, weight.dtype()), {1}), -1);
  }
  if (bags.mode == kMax) {
    T largest = b.max(rows, {1});
    return counts ? b.where(counts == 0, 0, largest) : largest;
  }
  T sum = b.sum(rows, {1});
  if (bags.mode == kSum)
    return sum;
  return counts ? sum / b.maximum(counts, 1) : sum / T(indices.size(1));
}

/// Bags of any length: each row is combined into its bag.
static T scatterRows(B &b, T weight, T indices, T offsets, AffineExpr count, const Bags &bags) {
  AffineExpr n = indices.size(0);
  mlir::Type type = weight.dtype();
  // Row j belongs to the last bag that starts at or before j.
  T starts = b.scatter(b.full(n + 1, 0, b.i64()), b.full(offsets.sizes(), 1, b.i64()), {offsets}, {0}, "sum");
  T bag = b.slice(b.scan("sum", starts, 0), 0, b.size(0), n) - 1;
  T rows = b.gather(weight, {indices}, {0}), ones = b.full(n, 1, type);
  if (bags.sampleWeights)
    rows = rows * b.unsqueeze(*bags.sampleWeights, -1);
  double nothing = bags.mode == kMax ? -std::numeric_limits<double>::infinity() : 0;
  if (bags.padding) {
    T isCounted = indices != *bags.padding;
    rows = b.where(b.unsqueeze(isCounted, -1), rows, nothing);
    ones = b.where(isCounted, ones, 0);
  }
  T start = b.full({count, weight.size(1)}, nothing, type);
  T result = b.scatter(start, rows, {bag}, {0}, bags.mode == kMax ? "max" : "sum");
  if (bags.mode == kSum)
    return result;
  T counts = b.unsqueeze(b.scatter(b.full(count, 0, type), ones, {bag}, {0}, "sum"), -1);
  return bags.mode == kMax ? b.where(counts == 0, 0, result) : result / b.maximum(counts, 1);
}

/// Only the bags themselves are computed; the sizes that training needs are not.
static TList embeddingBag(B &b, T weight, T indices, T offsets, const Bags &bags) {
  AffineExpr count = b.declared()[0];
  auto length = b.stepOf(offsets);
  // Offsets 0, L, 2 L, ... of a 2-d batch: no scatter is needed.
  if (length && isEqual(count * *length, indices.size(0)) && isEqual(offsets.size(0), count))
    return {reduceRows(b, weight, b.reshape(indices, {count, b.size(*length)}), bags)};
  return {scatterRows(b, weight, indices, offsets, count, bags)};
}

static std::optional<int64_t> paddingOf(T weight, std::optional<int64_t> index, bool fromEnd) {
  if (!index || *index >= 0 || !fromEnd)
    return index && *index >= 0 ? index : std::nullopt;
  return getConstant(weight.size(0) + *index);
}

void addEmbedding(Table &t) {
  // Rows that are used and longer than allowed are scaled.
  t.opmath("embedding_renorm", [](B &b, T weight, T indices, double largest, double p) {
    T length = norm(b, weight, p, {1}, true), used = b.full(weight.size(0), false, b.boolean());
    used = b.scatter(used, b.full(indices.sizes(), true, b.boolean()), {indices}, {0}, "set");
    T scale = b.where(length > largest, largest / (length + 1e-7), 1.0);
    return b.where(b.unsqueeze(used, 1), weight * scale, weight);
  });
  t.opmath("embedding_bag", [](B &b, T weight, T indices, T offsets, bool, int64_t mode, bool, OptT samples, bool) {
    return embeddingBag(b, weight, indices, offsets, {mode, samples, {}});
  });
  t.opmath("embedding_bag.padding_idx", [](B &b, T weight, T indices, T offsets, bool, int64_t mode, bool,
                                           OptT samples, bool, std::optional<int64_t> padding) {
    return embeddingBag(b, weight, indices, offsets, {mode, samples, paddingOf(weight, padding, true)});
  });
  t.opmath("_embedding_bag _embedding_bag_forward_only", [](B &b, T weight, T indices, T offsets, bool, int64_t mode,
                                                            bool, OptT samples, bool, int64_t padding) {
    return embeddingBag(b, weight, indices, offsets, {mode, samples, paddingOf(weight, padding, false)});
  });
}

} // namespace ptc::decompose
