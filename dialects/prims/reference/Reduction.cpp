//===- Reduction.cpp - what reductions, scans and sorts compute -----------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/reference/Evaluation.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

//===----------------------------------------------------------------------===//
// Combining elements
//===----------------------------------------------------------------------===//

static bool isNan(double x) { return x != x; }
static bool isNan(int64_t) { return false; }

/// Whether `x` takes the place of the extreme so far. `orEqual`: the last of
/// equals counts, not the first.
template <typename T> static bool isBetter(T x, T best, bool max, bool orEqual = false) {
  if (isNan(best))
    return orEqual && isNan(x);
  return isNan(x) || (max ? x > best : x < best) || (orEqual && x == best);
}

template <typename T> static T neutral(StringRef kind, Type element) {
  if (kind == "prod")
    return T(1.0);
  if constexpr (std::is_same_v<T, double>) {
    double infinity = std::numeric_limits<double>::infinity();
    return kind == "max" ? -infinity : kind == "min" ? infinity : 0.0;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    unsigned width = element.getIntOrFloatBitWidth();
    bool isUnsigned = isBool(element) || element.isUnsignedInteger();
    if (kind == "and")
      return isUnsigned && width < 64 ? (int64_t(1) << width) - 1 : -1;
    if (kind == "max")
      return isUnsigned ? 0 : std::numeric_limits<int64_t>::min() >> (64 - width);
    if (kind == "min")
      return isUnsigned ? (int64_t(1) << width) - 1 : std::numeric_limits<int64_t>::max() >> (64 - width);
  }
  return T(0.0);
}

template <typename T> static T combine(StringRef kind, T a, T b, Type element) {
  if constexpr (std::is_same_v<T, int64_t>) {
    if (kind == "sum")
      return isBool(element) ? a | b : wrap(int64_t(uint64_t(a) + uint64_t(b)), element);
    if (kind == "prod")
      return wrap(int64_t(uint64_t(a) * uint64_t(b)), element);
    if (kind == "and")
      return a & b;
    if (kind == "or")
      return a | b;
    return isBetter(b, a, kind == "max") ? b : a;
  } else {
    if (kind == "sum")
      return a + b;
    if constexpr (std::is_same_v<T, double>)
      if (kind == "logaddexp")
        return a == b ? a + std::log(2.0) : std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
    if constexpr (std::is_same_v<T, double>)
      if (kind != "prod")
        return isBetter(b, a, kind == "max") ? b : a;
    return a * b;
  }
}

//===----------------------------------------------------------------------===//
// Rows: the elements along some dimensions, made contiguous
//===----------------------------------------------------------------------===//

/// The dimensions other than `dims`, then `dims`.
static Sizes lastOrder(size_t rank, ArrayRef<int64_t> dims) {
  Sizes order;
  for (size_t d = 0; d < rank; ++d)
    if (!llvm::is_contained(dims, d))
      order.push_back(d);
  order.append(dims.begin(), dims.end());
  return order;
}

/// From a tensor whose last dimension was dimension `dim`.
static Tensor restore(const Tensor &x, int64_t dim) {
  Sizes order;
  for (int64_t d = 0, rank = x.shape.size(); d < rank; ++d)
    order.push_back(d < dim ? d : d == dim ? rank - 1 : d - 1);
  return permute(x, order);
}

Error ReduceOp::evaluate(Evaluation &e) {
  Tensor rows = permute(e[0], lastOrder(e[0].shape.size(), getDims())), result = e.makeResult();
  int64_t length = 1;
  for (int64_t dim : getDims())
    length *= e[0].shape[dim];
  StringRef kind = getKind();
  rows.visit([&](const auto &x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    std::vector<T> &out = result.as<T>();
    for (size_t i = 0; i < out.size(); ++i) {
      T total = neutral<T>(kind, result.element);
      if (kind == "sum" && !isBool(result.element) && !std::is_same_v<T, int64_t>)
        total = std::accumulate(x.begin() + i * length, x.begin() + (i + 1) * length, total);
      else
        for (int64_t k = 0; k < length; ++k)
          total = combine(kind, total, x[i * length + k], result.element);
      out[i] = total;
    }
  });
  return e.set(std::move(result));
}

/// Calls f(row, row of the result) for rows along `dim` of real numbers.
template <typename F> static Error forEachRow(Evaluation &e, int64_t dim, Type element, F f) {
  Tensor rows = permute(e[0], lastOrder(e[0].shape.size(), dim)), result(element, rows.shape);
  int64_t length = rows.shape.back(), count = length ? rows.count() / length : 0;
  auto run = [&](auto &x, auto &out) {
    for (int64_t i = 0; i < count; ++i)
      f(x.data() + i * length, out.data() + i * length, length);
  };
  if (isFloat(rows.element))
    isFloat(element) ? run(rows.reals, result.reals) : run(rows.reals, result.integers);
  else
    run(rows.integers, result.integers);
  return e.set(restore(result, dim));
}

Error ArgReduceOp::evaluate(Evaluation &e) {
  Tensor rows = permute(e[0], lastOrder(e[0].shape.size(), int64_t(getDim()))), result = e.makeResult();
  int64_t length = rows.shape.back();
  if (length == 0 && result.count() != 0)
    return e.fail("no extreme of nothing");
  bool max = getKind() == "max";
  auto run = [&](const auto &x) {
    for (size_t i = 0; i < result.integers.size(); ++i) {
      int64_t best = 0;
      for (int64_t k = 1; k < length; ++k)
        if (isBetter(x[i * length + k], x[i * length + best], max))
          best = k;
      result.integers[i] = best;
    }
  };
  isFloat(rows.element) ? run(rows.reals) : run(rows.integers);
  return e.set(std::move(result));
}

Error ScanOp::evaluate(Evaluation &e) {
  StringRef kind = getKind();
  Type element = e[0].element;
  if (isComplex(element)) {
    Tensor rows = permute(e[0], lastOrder(e[0].shape.size(), int64_t(getDim())));
    int64_t length = rows.shape.back();
    for (int64_t i = 0; i < rows.count(); ++i)
      if (i % length)
        rows.complexes[i] = combine(kind, rows.complexes[i - 1], rows.complexes[i], element);
    return e.set(restore(rows, getDim()));
  }
  return forEachRow(e, getDim(), element, [&](auto *x, auto *out, int64_t length) {
    using T = std::decay_t<decltype(*x)>;
    T total = x[0];
    for (int64_t k = 0; k < length; ++k)
      out[k] = total = k ? combine(kind, total, x[k], element) : total;
  });
}

Error ArgScanOp::evaluate(Evaluation &e) {
  bool max = getKind() == "max";
  return forEachRow(e, getDim(), e.makeResult().element, [&](auto *x, auto *out, int64_t length) {
    int64_t best = 0;
    for (int64_t k = 0; k < length; ++k)
      out[k] = best = isBetter(x[k], x[best], max, /*orEqual=*/true) ? k : best;
  });
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

template <typename T> static bool sortsBefore(T a, T b) { return isNan(b) ? !isNan(a) : a < b; }

template <typename T> static std::vector<int64_t> sortedPlaces(const T *x, int64_t length, bool descending) {
  std::vector<int64_t> places(length);
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t i, int64_t j) {
    return descending ? sortsBefore(x[j], x[i]) : sortsBefore(x[i], x[j]);
  });
  return places;
}

/// The first `count` of each row along `dim`, in order, and their places.
static Error sortRows(Evaluation &e, int64_t dim, int64_t count, bool descending) {
  Tensor rows = permute(e[0], lastOrder(e[0].shape.size(), dim));
  int64_t length = rows.shape.back(), rowCount = length ? rows.count() / length : 0;
  rows.shape.back() = count;
  Tensor values(rows.element, rows.shape), places(e.makeResult(1).element, rows.shape);
  auto run = [&](const auto &x, auto &out) {
    for (int64_t i = 0; i < rowCount; ++i) {
      std::vector<int64_t> order = sortedPlaces(x.data() + i * length, length, descending);
      for (int64_t k = 0; k < count; ++k) {
        places.integers[i * count + k] = order[k];
        out[i * count + k] = x[i * length + order[k]];
      }
    }
  };
  isFloat(rows.element) ? run(rows.reals, values.reals) : run(rows.integers, values.integers);
  if (auto error = e.set(restore(values, dim)))
    return error;
  return e.set(restore(places, dim), 1);
}

Error SortOp::evaluate(Evaluation &e) { return sortRows(e, getDim(), e[0].shape[getDim()], getDescending()); }

Error TopKOp::evaluate(Evaluation &e) {
  int64_t k = e.getSize(getK());
  if (k > e[0].shape[getDim()])
    return e.fail("k is " + llvm::Twine(k) + " for a dimension of size " + llvm::Twine(e[0].shape[getDim()]));
  return sortRows(e, getDim(), k, getLargest());
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Calls f(place in x) for the window at `at`, padding left out.
template <typename Op, typename F>
static void forEachInWindow(Op op, const Tensor &x, ArrayRef<int64_t> window, ArrayRef<int64_t> at, F f) {
  Sizes strides = stridesOf(x.shape);
  for (IndexCounter w(window); w; ++w) {
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < window.size(); ++d) {
      int64_t index = at[d] * op.getStrides()[d] + (*w)[d] * op.getDilations()[d] - op.getLow()[d];
      inside &= index >= 0 && index < x.shape[d];
      place += index * strides[d];
    }
    if (inside)
      f(place);
  }
}

Error ReduceWindowOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  Sizes window = e.getSizes(getWindow());
  StringRef kind = getKind();
  e[0].visit([&](const auto &x) {
    using T = typename std::decay_t<decltype(x)>::value_type;
    auto &out = result.as<T>();
    int64_t next = 0;
    for (IndexCounter i(result.shape); i; ++i) {
      T total = neutral<T>(kind, result.element);
      forEachInWindow(*this, e[0], window, *i,
                      [&](int64_t place) { total = combine(kind, total, x[place], result.element); });
      out[next++] = total;
    }
  });
  return e.set(std::move(result));
}

Error ArgReduceWindowOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  Sizes window = e.getSizes(getWindow());
  int64_t plane = countElements(llvm::ArrayRef(e[0].shape).take_back(getSpatial()));
  auto run = [&](const auto &x) {
    int64_t next = 0;
    for (IndexCounter i(result.shape); i; ++i) {
      int64_t best = -1;
      forEachInWindow(*this, e[0], window, *i, [&](int64_t place) {
        if (best < 0 || isNan(x[place]) || isBetter(x[place], x[best], /*max=*/true))
          best = place;
      });
      result.integers[next++] = best < 0 ? 0 : best % plane;
    }
  };
  isFloat(e[0].element) ? run(e[0].reals) : run(e[0].integers);
  return e.set(std::move(result));
}

} // namespace ptc::prims
