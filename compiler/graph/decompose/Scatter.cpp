//===- Scatter.cpp - writing and combining at computed places -------------===//

#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

/// Where updates go: prims.scatter's indices.
struct Target {
  TList indices;
  Dims dims;
};

/// PyTorch's names of combinations: {add, sum}, {multiply, prod}, amax, amin, mean.
static llvm::StringRef combineOf(Str name) {
  return name == "add" || name == "sum" || name == "mean" ? "sum"
         : name == "multiply" || name == "prod"           ? "prod"
         : name == "amax"                                 ? "max"
                                                          : "min";
}

static T neutral(Str combine, mlir::Type type) {
  return combine == "sum" ? T(0) : combine == "prod" ? T(1) : combine == "max" ? lowerLimit(type) : upperLimit(type);
}

/// x combined with updates; without `includeSelf` old values at the indexed
/// places do not take part.
static T combineInto(B &b, T x, T updates, const Target &to, Str reduce, bool includeSelf) {
  llvm::StringRef combine = combineOf(reduce);
  updates = b.to(updates, x.dtype());
  auto constant = [&](T value) { return b.full(updates.sizes(), value, x.dtype()); };
  T base = includeSelf ? x : b.scatter(x, constant(neutral(combine, x.dtype())), to.indices, to.dims, "set");
  T result = b.scatter(base, updates, to.indices, to.dims, combine);
  if (reduce != "mean")
    return result;
  T ones = b.full(x.sizes(), 1, x.dtype());
  T start = includeSelf ? ones : b.scatter(ones, constant(0), to.indices, to.dims, "set");
  T count = b.scatter(start, constant(1), to.indices, to.dims, "sum");
  count = b.maximum(count, 1);
  return isFloat(x.dtype()) ? result / count : b.floorDivide(result, count);
}

//===----------------------------------------------------------------------===//
// scatter: an index an element
//===----------------------------------------------------------------------===//

/// The part of the source that an index of this shape reads; numbers as tensor.
static T sourceFor(B &b, T source, T x, T index) {
  if (source.isNumber())
    return b.full(index.sizes(), source, x.dtype());
  for (int64_t d = 0; d < index.rank(); ++d)
    source = b.slice(source, d, b.size(0), index.size(d));
  return source;
}

/// A scalar as a tensor of one element, other tensors as they are.
static T atLeastOne(B &b, T x) { return x.isNumber() || x.rank() ? x : b.unsqueeze(x, 0); }

static T scatterElements(B &b, T x, int64_t dim, T index, T source, Str reduce, bool includeSelf) {
  if (getConstant(index.numel()) == 0) // of any rank
    return x;
  index = atLeastOne(b, index);
  source = atLeastOne(b, source);
  if (!x.rank())
    return b.reshape(scatterElements(b, b.unsqueeze(x, 0), 0, index, source, reduce, includeSelf), {});
  T updates = sourceFor(b, source, x, index);
  Target target;
  if (auto row = rowIndex(b, x, dim, index)) {
    target = {{*row}, {b.dim(x, dim)}};
    updates = b.moveDim(updates, dim, 0);
  } else {
    target = {elementIndices(b, index, dim), b.dims(x, {})};
  }
  if (reduce.empty())
    return b.scatter(x, updates, target.indices, target.dims, "set");
  return combineInto(b, x, updates, target, reduce, includeSelf);
}

static void addScatters(Table &t) {
  t.def("scatter.src scatter.value", [](B &b, T x, int64_t dim, T index, T source) {
    return scatterElements(b, x, dim, index, source, "", true);
  });
  t.def("scatter.reduce scatter.value_reduce", [](B &b, T x, int64_t dim, T index, T source, Str reduce) {
    return scatterElements(b, x, dim, index, source, reduce, true);
  });
  t.def("scatter_add", [](B &b, T x, int64_t dim, T index, T source) {
    return scatterElements(b, x, dim, index, source, "sum", true);
  });
  t.def("scatter_reduce.two", [](B &b, T x, int64_t dim, T index, T source, Str reduce, bool includeSelf) {
    return scatterElements(b, x, dim, index, source, reduce, includeSelf);
  });
}

//===----------------------------------------------------------------------===//
// index_*: an index a slice
//===----------------------------------------------------------------------===//

static T scatterSlices(B &b, T x, int64_t dim, T index, T source, Str reduce, bool includeSelf = true) {
  if (!x.rank())
    return b.reshape(scatterSlices(b, b.unsqueeze(x, 0), 0, index, atLeastOne(b, source), reduce, includeSelf), {});
  index = atLeastOne(b, index);
  source = source.rank() < x.rank() ? b.unsqueeze(source, dim) : source;
  Target target{{index}, {b.dim(x, dim)}};
  T updates = b.moveDim(source, dim, 0);
  if (reduce.empty())
    return b.scatter(x, updates, target.indices, target.dims, "set");
  return combineInto(b, x, updates, target, reduce, includeSelf);
}

static T fillSlices(B &b, T x, int64_t dim, T index, T value) {
  T flat = atLeastOne(b, x);
  index = atLeastOne(b, index);
  Shape sizes = flat.sizes();
  sizes[b.dim(flat, dim)] = index.size(0);
  T filled = scatterSlices(b, flat, dim, b.wrap(index, flat.size(dim)), b.full(sizes, value, x.dtype()), "");
  return b.reshape(filled, x.sizes());
}

static void addSlices(Table &t) {
  t.def("index_copy", [](B &b, T x, int64_t dim, T index, T source) {
    return scatterSlices(b, x, dim, index, source, "");
  });
  t.def("index_add", [](B &b, T x, int64_t dim, T index, T source, T alpha) {
    bool isOne = alpha.isNumber() && alpha.real() == 1;
    return scatterSlices(b, x, dim, index, isOne ? source : source * alpha, "sum");
  });
  t.def("index_reduce", [](B &b, T x, int64_t dim, T index, T source, Str reduce, bool includeSelf) {
    return scatterSlices(b, x, dim, index, source, reduce, includeSelf);
  });
  t.def("index_fill.int_Scalar index_fill.int_Tensor", [](B &b, T x, int64_t dim, T index, T value) {
    return fillSlices(b, x, dim, index, value);
  });
}

//===----------------------------------------------------------------------===//
// x[i, :, j] = values
//===----------------------------------------------------------------------===//

/// x[mask] = values: an element of x knows by the mask whether it gets one, and by the number of places before it,
/// which.
static T putMasked(B &b, T x, T mask, T values, bool accumulate) {
  int64_t rest = x.rank() - mask.rank();
  Shape sizes = x.sizes(), slice(sizes.begin() + mask.rank(), sizes.end());
  bool isOneForAll = true;
  for (int64_t d = 0; d < values.rank() - rest; ++d)
    isOneForAll &= getConstant(values.size(d)) == 1;
  T given;
  if (isOneForAll) {
    Shape kept = values.sizes();
    given = b.reshape(values, ShapeRef(kept).take_back(std::min(rest, values.rank())));
  } else {
    T flat = b.reshape(mask, mask.numel());
    T place = b.maximum(b.scan("sum", b.to(flat, b.i64()), 0) - 1, 0);
    slice.insert(slice.begin(), values.size(0));
    given = b.reshape(b.gather(b.expand(values, slice), {place}, {0}), sizes);
  }
  Dims lead;
  for (int64_t d = 0; d < mask.rank(); ++d)
    lead.push_back(d);
  return b.where(b.broadcastInDim(mask, sizes, lead), accumulate ? x + given : b.to(given, x.dtype()), x);
}

static T indexPut(B &b, T x, const OptTList &indices, T values, bool accumulate) {
  if (indices.size() == 1 && indices[0] && isBool(indices[0]->dtype()))
    return putMasked(b, x, *indices[0], values, accumulate);
  auto index = readIndices(b, x, indices);
  if (!index)
    return T();
  if (index->dims.empty())
    return accumulate ? x + values : b.expand(values, x.sizes());
  Shape shape = index->indices.front().sizes(), target;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (!llvm::is_contained(index->dims, d))
      target.push_back(x.size(d));
  target.insert(target.begin() + index->position, shape.begin(), shape.end());
  T updates = toGatherOrder(b, b.expand(values, target), *index);
  return b.scatter(x, updates, index->indices, index->dims, accumulate ? "sum" : "set");
}

static void addPuts(Table &t) {
  t.def("index_put _unsafe_index_put", [](B &b, T x, OptTList indices, T values, bool accumulate) {
    return indexPut(b, x, indices, values, accumulate);
  });
  t.def("put", [](B &b, T x, T index, T source, bool accumulate) {
    T flat = b.reshape(x, x.rank() ? x.numel() : b.size(1));
    b.requireEqual(source.numel(), index.numel());
    T put = b.scatter(flat, b.reshape(source, index.sizes()), {b.wrap(index, flat.size(0))}, {0},
                      accumulate ? "sum" : "set");
    return b.reshape(put, x.sizes());
  });
}

void addScatter(Table &t) {
  addScatters(t);
  addSlices(t);
  addPuts(t);
}

} // namespace ptc::decompose
