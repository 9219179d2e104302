//===- Indexing.cpp - reading at computed places --------------------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <numeric>

namespace ptc::decompose {

using mlir::AffineExpr;

//===----------------------------------------------------------------------===//
// x[i, :, j]
//===----------------------------------------------------------------------===//

std::optional<AdvancedIndex> readIndices(B &b, T x, const OptTList &given) {
  AdvancedIndex index;
  Shape shape;
  for (size_t d = 0; d < given.size(); ++d) {
    if (!given[d])
      continue;
    if (isBool(given[d]->dtype()) || given[d]->dtype().isUnsignedInteger(8)) {
      b.unsupported("an index of bools makes a result whose size depends on data");
      return std::nullopt;
    }
    index.dims.push_back(d);
    index.indices.push_back(b.wrap(*given[d], x.size(d)));
    shape = b.broadcastShapes(shape, given[d]->sizes());
  }
  for (T &i : index.indices)
    i = b.to(b.expand(i, shape), b.i64());
  index.rank = shape.size();
  bool adjacent = !index.dims.empty() && index.dims.back() - index.dims.front() + 1 == int64_t(index.dims.size());
  index.position = adjacent ? index.dims.front() : 0;
  return index;
}

/// gather puts the indices' dimensions first, PyTorch where the adjacent
/// indices stand.
static Dims fromGather(const AdvancedIndex &index, int64_t rank) {
  Dims order(rank);
  checkLength(index.rank + index.position, order.size());
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + index.rank, order.begin() + index.rank + index.position);
  return order;
}

static bool isMask(const OptT &index) {
  return index && (isBool(index->dtype()) || index->dtype().isUnsignedInteger(8));
}

/// A mask stands for the places where it is true, an index for each of its dimensions.
static std::optional<OptTList> withoutMask(B &b, const OptTList &given) {
  if (llvm::count_if(given, isMask) > 1) {
    b.unsupported("several masks in one index");
    return std::nullopt;
  }
  OptTList indices;
  size_t before = 0, first = 0, last = 0; // dimensions of x before, and those that are indexed
  for (const OptT &index : given) {
    size_t rank = isMask(index) ? index->rank() : 1;
    if (index) {
      first = last ? first : before;
      last = before + rank;
    }
    before += rank;
  }
  bool isAdjacent = true;
  before = 0;
  for (const OptT &index : given) {
    isAdjacent &= index || before < first || before >= last;
    before += isMask(index) ? index->rank() : 1;
  }
  AffineExpr count = b.declared()[isAdjacent ? first : 0];
  for (const OptT &index : given) {
    if (!isMask(index)) {
      indices.push_back(index);
      continue;
    }
    T flat = b.reshape(b.to(*index, b.boolean()), index->numel());
    for (T column : coordinates(b, chosenPlaces(b, flat, count), index->sizes()))
      indices.push_back(column);
  }
  return indices;
}

static T indexTensor(B &b, T x, const OptTList &given) {
  if (llvm::any_of(given, isMask)) {
    auto indices = withoutMask(b, given);
    return indices ? indexTensor(b, x, *indices) : T();
  }
  auto index = readIndices(b, x, given);
  if (!index)
    return T();
  if (index->dims.empty())
    return x;
  T gathered = b.gather(x, index->indices, index->dims);
  return b.permute(gathered, fromGather(*index, gathered.rank()));
}

/// Indices that a mask keeps from being used are in range all the same.
static OptTList inRange(B &b, T x, OptTList indices) {
  for (size_t d = 0; d < indices.size(); ++d)
    if (indices[d])
      indices[d] = b.minimum(b.maximum(*indices[d], T(0) - T(x.size(d))), T(x.size(d)) - 1);
  return indices;
}

T toGatherOrder(B &b, T values, const AdvancedIndex &index) {
  Dims order = fromGather(index, values.rank()), inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[order[i]] = i;
  return b.permute(values, inverse);
}

//===----------------------------------------------------------------------===//
// Along one dimension
//===----------------------------------------------------------------------===//

T selectRows(B &b, T x, int64_t dim, T index) {
  if (!x.rank())
    return b.reshape(x, index.sizes());
  index = index.rank() ? index : b.unsqueeze(index, 0);
  return b.moveDim(b.gather(x, {index}, {b.dim(x, dim)}), 0, dim);
}

static T gatherAlong(B &b, T x, int64_t dim, T index) {
  if (!x.rank() || !index.rank()) {
    T flat = b.reshape(x, x.rank() ? x.sizes() : Shape{b.size(1)});
    T places = b.reshape(index, index.rank() ? index.sizes() : Shape{b.size(1)});
    return b.reshape(b.gather(flat, {places}, {0}), index.sizes());
  }
  if (auto row = rowIndex(b, x, dim, index))
    return selectRows(b, x, dim, *row);
  Dims all = b.dims(x, {});
  return b.gather(x, elementIndices(b, index, dim), all);
}

static void addReads(Table &t) {
  t.def("index.Tensor _unsafe_index.Tensor",
        [](B &b, T x, OptTList indices) { return indexTensor(b, x, indices); });
  t.def("embedding", [](B &b, T weight, T indices, int64_t padding, bool byFrequency, Rest) {
    return b.withGradient(b.gather(weight, {indices}, {0}), weight, [&](T grad) {
      return embeddingBackward(b, b.toOpmath(grad), indices, weight.size(0), padding, byFrequency);
    });
  });
  t.def("index_select", [](B &b, T x, int64_t dim, T index) {
    return x.rank() ? selectRows(b, x, dim, index) : x;
  });
  // An index without elements may have any rank.
  t.def("gather", [](B &b, T x, int64_t dim, T index, bool) {
    return getConstant(index.numel()) == 0 ? b.full(index.sizes(), 0, x.dtype()) : gatherAlong(b, x, dim, index);
  });
  t.def("take_along_dim", [](B &b, T x, T index, std::optional<int64_t> dim) {
    if (!dim)
      return b.gather(b.reshape(x, x.numel()), {b.reshape(index, index.numel())}, {0});
    index = b.wrap(index, x.size(*dim));
    Shape sizes = b.broadcastShapes({x, index}), indexed = sizes;
    indexed[b.dim(x, *dim)] = index.size(*dim);
    sizes[b.dim(x, *dim)] = x.size(*dim);
    return gatherAlong(b, b.expand(x, sizes), *dim, b.expand(index, indexed));
  });
  t.def("take", [](B &b, T x, T index) {
    T flat = b.reshape(x, x.rank() ? x.numel() : b.size(1));
    return b.gather(flat, {b.wrap(index, flat.size(0))}, {0});
  });
}

static void addMasks(Table &t) {
  t.def("_unsafe_masked_index", [](B &b, T x, T mask, OptTList indices, T fill) {
    T picked = indexTensor(b, x, inRange(b, x, indices));
    return b.where(mask, picked, b.to(fill, x.dtype()));
  });
  t.def("_unsafe_masked_index_put_accumulate", [](B &b, T x, T mask, OptTList indices, T values) {
    auto index = readIndices(b, x, inRange(b, x, indices));
    if (!index)
      return T();
    T updates = toGatherOrder(b, b.where(mask, values, 0), *index);
    return b.scatter(x, updates, index->indices, index->dims, "sum");
  });
  t.def("masked_fill.Scalar masked_fill.Tensor",
        [](B &b, T x, T mask, T value) { return b.where(mask, b.to(value, x.dtype()), x); });
  t.def("masked_scatter", [](B &b, T x, T mask, T source) {
    Shape sizes = b.broadcastShapes({x, mask});
    T flat = b.reshape(b.expand(mask, sizes), product(sizes, b.context()));
    T place = b.scan("sum", b.to(flat, b.i64()), 0) - 1;
    T taken = b.gather(b.reshape(source, source.rank() ? source.numel() : b.size(1)), {b.maximum(place, 0)}, {0});
    return b.reshape(b.where(flat, taken, b.reshape(b.expand(x, sizes), flat.sizes())), sizes);
  });
  t.def("one_hot", [](B &b, T x, Int) {
    AffineExpr classes = b.declared().back();
    if (getConstant(classes) == -1)
      return b.unsupported("num_classes must be given");
    return b.unsqueeze(x, -1) == b.range(classes, b.i64());
  });
  // The number of boundaries below; NaN comes after all.
  auto bucket = [](B &b, T x, T boundaries, bool right) {
    T value = b.unsqueeze(x, -1);
    T below = b.logicalNot(right ? boundaries > value : boundaries >= value);
    return b.sum(b.to(below, b.i64()), {-1});
  };
  t.def("bucketize.Tensor",
        [=](B &b, T x, T boundaries, bool, bool right) { return bucket(b, x, boundaries, right); });
  t.def("bucketize.Scalar", [=](B &b, T x, T boundaries, bool, bool right) {
    return bucket(b, b.tensor(x, boundaries.dtype()), boundaries, right);
  });
  t.def("searchsorted.Tensor searchsorted.Scalar", [=](B &b, T sorted, T x, bool, bool right, Str side, OptT sorter) {
    if (sorter)
      sorted = gatherAlong(b, sorted, -1, *sorter);
    T rows = sorted.rank() > 1 ? b.unsqueeze(sorted, -2) : sorted;
    return bucket(b, x.isTensor() ? x : b.tensor(x, sorted.dtype()), rows, right || side == "right");
  });
  t.def("isin.Tensor_Tensor", [](B &b, T x, T among, bool, bool invert) {
    T found = b.any(b.unsqueeze(x, -1) == b.reshape(among, among.rank() ? among.numel() : b.size(1)), {-1});
    return invert ? b.logicalNot(found) : found;
  });
  t.def("isin.Tensor_Scalar", [](B &, T x, T among, bool, bool invert) { return invert ? x != among : x == among; });
  t.def("isin.Scalar_Tensor", [](B &b, T x, T among, bool, bool invert) {
    T found = b.any(among == x, {});
    return invert ? b.logicalNot(found) : found;
  });
}

void addIndexing(Table &t) {
  addReads(t);
  addMasks(t);
}

} // namespace ptc::decompose
