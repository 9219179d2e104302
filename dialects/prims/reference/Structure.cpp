//===- Structure.cpp - what generators, shape changes and indexing compute -===//

#include "dialects/prims/Structure.h"

#include "dialects/prims/reference/Evaluation.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

//===----------------------------------------------------------------------===//
// Generators
//===----------------------------------------------------------------------===//

static int64_t integerOf(const APInt &value, Type element) {
  return wrap(value.sextOrTrunc(64).getSExtValue(), element);
}

Error ConstantOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  if (isFloat(result.element))
    llvm::copy(llvm::map_range(getValue().getValues<APFloat>(), [](APFloat v) {
                 bool lossy;
                 v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
                 return v.convertToDouble();
               }), result.reals.begin());
  else if (isComplex(result.element))
    llvm::copy(llvm::map_range(getValue().getValues<std::complex<APFloat>>(), [](const std::complex<APFloat> &v) {
                 return Complex(v.real().convertToDouble(), v.imag().convertToDouble());
               }), result.complexes.begin());
  else
    llvm::copy(llvm::map_range(getValue().getValues<APInt>(), [&](const APInt &v) {
                 return integerOf(v, result.element);
               }), result.integers.begin());
  return e.set(std::move(result));
}

Error FullOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  if (auto real = llvm::dyn_cast<FloatAttr>(getValue()))
    llvm::fill(result.reals, real.getValueAsDouble());
  else if (auto parts = llvm::dyn_cast<ArrayAttr>(getValue()))
    llvm::fill(result.complexes, Complex(llvm::cast<FloatAttr>(parts[0]).getValueAsDouble(),
                                         llvm::cast<FloatAttr>(parts[1]).getValueAsDouble()));
  else
    llvm::fill(result.integers, integerOf(llvm::cast<IntegerAttr>(getValue()).getValue(), result.element));
  return e.set(std::move(result));
}

Error IotaOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  int64_t place = 0;
  for (IndexCounter i(result.shape); i; ++i, ++place) {
    if (isFloat(result.element))
      result.reals[place] = double((*i)[getDim()]);
    else
      result.integers[place] = wrap((*i)[getDim()], result.element);
  }
  return e.set(std::move(result));
}

Error SizeOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  result.integers[0] = e.getSize(getSize());
  return e.set(std::move(result));
}

//===----------------------------------------------------------------------===//
// Shape changes
//===----------------------------------------------------------------------===//

Error BroadcastInDimOp::evaluate(Evaluation &e) {
  Sizes shape = e.getSizes(getSizes()), from = stridesOf(e[0].shape), strides(shape.size(), 0);
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (e[0].shape[i] != 1)
      strides[dim] = from[i];
  return e.set(readStrided(e[0], shape, 0, strides));
}

Error ReshapeOp::evaluate(Evaluation &e) {
  Tensor result = e[0];
  result.shape = e.getSizes(getSizes());
  if (result.count() != e[0].count())
    return e.fail("the number of elements differs");
  return e.set(std::move(result));
}

Error TransposeOp::evaluate(Evaluation &e) { return e.set(permute(e[0], getPermutation())); }

Error SliceOp::evaluate(Evaluation &e) {
  Sizes starts = e.getSizes(getStarts()), strides = stridesOf(e[0].shape);
  int64_t offset = 0;
  for (auto [i, stride] : llvm::enumerate(strides)) {
    offset += starts[i] * stride;
    stride *= getStrides()[i];
  }
  return e.set(readStrided(e[0], e.makeResult().shape, offset, strides));
}

Error PadOp::evaluate(Evaluation &e) {
  Sizes low = e.getSizes(getLow());
  Tensor result = e.makeResult();
  Sizes strides = stridesOf(result.shape);
  e[0].visit([&](const auto &from) {
    using T = typename std::decay_t<decltype(from)>::value_type;
    auto &to = result.as<T>();
    e[1].visit([&](const auto &value) {
      if constexpr (std::is_same_v<decltype(value), decltype(from)>)
        llvm::fill(to, value[0]);
    });
    int64_t place = 0;
    for (IndexCounter i(e[0].shape); i; ++i, ++place) {
      int64_t target = 0;
      bool inside = true;
      for (size_t d = 0; d < low.size(); ++d) {
        int64_t index = low[d] + (*i)[d] * (getInterior()[d] + 1);
        inside &= index >= 0 && index < result.shape[d];
        target += index * strides[d];
      }
      if (inside)
        to[target] = from[place];
    }
  });
  return e.set(std::move(result));
}

Error ConcatenateOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  int64_t dim = getDim(), outer = countElements(llvm::ArrayRef(result.shape).take_front(dim));
  int64_t row = countElements(llvm::ArrayRef(result.shape).drop_front(dim)), offset = 0;
  for (size_t k = 0; k < e.size(); ++k) {
    int64_t part = countElements(llvm::ArrayRef(e[k].shape).drop_front(dim));
    e[k].visit([&](const auto &from) {
      auto &to = result.as<typename std::decay_t<decltype(from)>::value_type>();
      for (int64_t i = 0; i < outer; ++i)
        std::copy_n(from.begin() + i * part, part, to.begin() + i * row + offset);
    });
    offset += part;
  }
  return e.set(std::move(result));
}

Error ReverseOp::evaluate(Evaluation &e) {
  Sizes strides = stridesOf(e[0].shape);
  int64_t offset = 0;
  for (int64_t dim : getDims()) {
    offset += (e[0].shape[dim] - 1) * strides[dim];
    strides[dim] = -strides[dim];
  }
  return e.set(readStrided(e[0], e[0].shape, offset, strides));
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

/// Calls f(place in the indexed tensor, place in the result of gather), in
/// row-major order of the latter.
template <typename F>
static Error forEachIndexed(Evaluation &e, ArrayRef<int64_t> shape, size_t firstIndex, ArrayRef<int64_t> dims, F f) {
  Sizes strides = stridesOf(shape), rest, restStrides;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!llvm::is_contained(dims, d)) {
      rest.push_back(shape[d]);
      restStrides.push_back(strides[d]);
    }
  int64_t place = 0;
  for (int64_t i = 0, n = e[firstIndex].count(); i < n; ++i) {
    int64_t base = 0;
    for (auto [j, dim] : llvm::enumerate(dims)) {
      int64_t index = e[firstIndex + j].integers[i];
      if (index < 0 || index >= shape[dim])
        return e.fail("index " + llvm::Twine(index) + " is out of range for dimension " + llvm::Twine(dim) +
                      " of size " + llvm::Twine(shape[dim]));
      base += index * strides[dim];
    }
    for (IndexCounter r(rest); r; ++r) {
      int64_t offset = base;
      for (size_t d = 0; d < rest.size(); ++d)
        offset += (*r)[d] * restStrides[d];
      f(offset, place++);
    }
  }
  return Error::success();
}

Error GatherOp::evaluate(Evaluation &e) {
  Tensor result = e.makeResult();
  Error error = e[0].visit([&](const auto &from) {
    auto &to = result.as<typename std::decay_t<decltype(from)>::value_type>();
    return forEachIndexed(e, e[0].shape, 1, getDims(), [&](int64_t x, int64_t i) { to[i] = from[x]; });
  });
  return error ? std::move(error) : e.set(std::move(result));
}

template <typename T> static T combine(StringRef how, T old, T update, Type element) {
  if constexpr (std::is_same_v<T, Complex>) {
    return how == "sum" ? old + update : how == "prod" ? old * update : update;
  } else {
    auto bounded = [&](T value) {
      if constexpr (std::is_same_v<T, int64_t>)
        return wrap(value, element);
      else
        return value;
    };
    if (how == "sum")
      return isBool(element) ? T(old != 0 || update != 0) : bounded(old + update);
    if (how == "prod")
      return bounded(old * update);
    bool keep = old != old || (how == "max" ? old > update : old < update);
    return how == "set" || !keep ? update : old;
  }
}

Error StopGradientOp::evaluate(Evaluation &e) { return e.set(e[0]); }
Error WithGradientOp::evaluate(Evaluation &e) { return e.set(e[0]); }

Error ScatterOp::evaluate(Evaluation &e) {
  Tensor result = e[0];
  Error error = e[1].visit([&](const auto &updates) {
    auto &to = result.as<typename std::decay_t<decltype(updates)>::value_type>();
    return forEachIndexed(e, e[0].shape, 2, getDims(), [&](int64_t x, int64_t i) {
      to[x] = combine(getCombine(), to[x], updates[i], result.element);
    });
  });
  return error ? std::move(error) : e.set(std::move(result));
}

} // namespace ptc::prims
