//===- Fourier.cpp - Fourier transforms -----------------------------------===//
//
// Names of arguments are PyTorch's: a transform of n (or s) elements along dim,
// scaled as `norm` says.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/decompose/FourierStages.h"
#include "compiler/graph/decompose/Index.h"
#include "compiler/graph/decompose/Table.h"

#include <cmath>
#include <numeric>

namespace ptc::decompose {

using mlir::AffineExpr;

static T viewAsReal(B &b, T x) { return b.stack({b.real(x), b.imag(x)}, -1); }
static T viewAsComplex(B &b, T pairs) {
  return b.complex(b.select(pairs, -1, b.size(0)), b.select(pairs, -1, b.size(1)));
}

/// In the type that PyTorch computes in.
static T asNumbers(B &b, T x) {
  x = b.toFloating(x);
  return isComplex(x.dtype()) ? x : b.toOpmath(x);
}

static T asComplex(B &b, T x) {
  x = asNumbers(b, x);
  return isComplex(x.dtype()) ? x : b.to(x, mlir::ComplexType::get(x.dtype()));
}

/// Along one dimension, not scaled; of complex numbers or of real ones.
static T transform(B &b, T x, int64_t dim, bool isForward) {
  b.requireElements(x, {dim});
  x = b.moveDim(x, dim, -1);
  std::optional<int64_t> n = getConstant(x.size(-1));
  auto factors = n ? getFourierFactors(*n) : std::nullopt;
  T result = factors ? transformByStages(b, x, *factors, isForward)
                     : b.matrix(isForward ? "fourier" : "fourier_inverse", {asComplex(b, x)})[0];
  return b.moveDim(result, -1, dim);
}

static T transformAll(B &b, T x, DimsRef dims, bool isForward) {
  for (int64_t dim : dims)
    x = transform(b, x, dim, isForward);
  return asComplex(b, x);
}

static T scaled(B &b, T x, AffineExpr count, double power) {
  if (power == 0)
    return x;
  mlir::Type part = b.real(x).dtype();
  T factor = b.pow(b.to(b.tensor(T(count), b.i64()), part), power);
  return x * b.to(factor, x.dtype());
}

/// The power of the number of elements that a transform is multiplied with.
static double powerOf(Str norm, bool isForward) {
  if (norm == "ortho")
    return -0.5;
  bool scalesForward = norm == "forward";
  return scalesForward == isForward ? -1 : 0;
}
/// As numbered in ATen: none, by the root, by n.
static double powerOf(int64_t normalization) { return normalization == 0 ? 0 : normalization == 1 ? -0.5 : -1; }

static AffineExpr countOf(B &b, T x, DimsRef dims) {
  AffineExpr count = b.size(1);
  for (int64_t dim : dims)
    count = count * x.size(dim);
  return count;
}

/// Cut, or filled with zeros, to n elements.
static T resized(B &b, T x, int64_t dim, AffineExpr n) {
  AffineExpr size = x.size(dim);
  if (isEqual(size, n))
    return x;
  if (b.range(size - n).min >= 0)
    return b.slice(x, dim, b.size(0), n);
  return b.padDim(x, dim, b.size(0), n - size, 0);
}

static T firstHalf(B &b, T x, int64_t dim) { return b.slice(x, dim, b.size(0), x.size(dim).floorDiv(2) + 1); }

/// The n real numbers whose transform begins with the half spectrum x.
static T fromHalf(B &b, T x, int64_t dim, AffineExpr n, bool isForward) {
  dim = b.dim(x, dim);
  AffineExpr half = n.floorDiv(2) + 1;
  x = resized(b, x, dim, half);
  T place = b.range(n, b.i64()), isMirrored = place >= T(half);
  T index = b.where(isMirrored, T(n) - place, place);
  mlir::Type part = b.real(x).dtype();
  // The first element and the middle one are their own mirror images, thus real.
  T isOwn = (place == 0) | (place * 2 == T(n));
  T sign = b.where(isOwn, b.full({}, 0.0, part), b.where(isMirrored, b.full({}, -1.0, part), 1.0));
  Shape along(x.rank(), b.size(1));
  along[dim] = n;
  T re = selectRows(b, b.real(x), dim, index), im = selectRows(b, b.imag(x), dim, index) * b.reshape(sign, along);
  return b.real(transform(b, b.complex(re, im), dim, isForward));
}

//===----------------------------------------------------------------------===//
// torch.fft
//===----------------------------------------------------------------------===//

/// The dimensions of an n-dimensional transform.
static Dims dimsOf(B &b, T x, const OptInts &sizes, const Dims &dims) {
  Dims result;
  int64_t count = sizes ? sizes->size() : x.rank();
  for (int64_t i = 0; i < count && dims.empty(); ++i)
    result.push_back(x.rank() - count + i);
  for (int64_t dim : dims)
    result.push_back(b.dim(x, dim));
  return result;
}

/// x with the sizes asked for; the last of a half spectrum is left to fromHalf.
static T sized(B &b, T x, const OptInts &sizes, DimsRef dims, bool isHalf = false) {
  for (size_t i = 0; sizes && i + isHalf < dims.size(); ++i)
    if (getConstant((*sizes)[i]) != -1)
      x = resized(b, x, dims[i], (*sizes)[i]);
  return x;
}

static T complexToComplex(B &b, T x, const OptInts &sizes, DimsRef dims, Str norm, bool isForward) {
  x = sized(b, asNumbers(b, x), sizes, dims);
  return scaled(b, transformAll(b, x, dims, isForward), countOf(b, x, dims), powerOf(norm, isForward));
}

/// The half spectrum along the last of dims; for ihfft the inverse transform.
static T realToComplex(B &b, T x, const OptInts &sizes, DimsRef dims, Str norm, bool isForward) {
  x = sized(b, asNumbers(b, x), sizes, dims);
  AffineExpr count = countOf(b, x, dims);
  T half = firstHalf(b, transform(b, x, dims.back(), isForward), dims.back());
  return scaled(b, transformAll(b, half, dims.drop_back(), isForward), count, powerOf(norm, isForward));
}

static T complexToReal(B &b, T x, const OptInts &sizes, DimsRef dims, Str norm, bool isForward) {
  x = sized(b, asComplex(b, x), sizes, dims, true);
  AffineExpr n = b.declared()[dims.back()];
  x = transformAll(b, x, dims.drop_back(), isForward);
  T result = fromHalf(b, x, dims.back(), n, isForward);
  return scaled(b, result, countOf(b, result, dims), powerOf(norm, isForward));
}

using TransformFunction = T (*)(B &, T, const OptInts &, DimsRef, Str, bool);

static void addTransform(Table &t, llvm::StringRef name, TransformFunction function, bool isForward) {
  t.def(("fft_" + name).str(), [=](B &b, T x, OptInt n, int64_t dim, Str norm) {
    return function(b, x, n ? OptInts(Shape{*n}) : OptInts(), {b.dim(x, dim)}, norm, isForward);
  });
  t.def(("fft_" + name + "2 fft_" + name + "n").str(), [=](B &b, T x, OptInts sizes, Dims dims, Str norm) {
    return function(b, x, sizes, dimsOf(b, x, sizes, dims), norm, isForward);
  });
}

static void addTransforms(Table &t) {
  addTransform(t, "fft", complexToComplex, true);
  addTransform(t, "ifft", complexToComplex, false);
  addTransform(t, "rfft", realToComplex, true);
  addTransform(t, "irfft", complexToReal, false);
  addTransform(t, "hfft", complexToReal, true);
  addTransform(t, "ihfft", realToComplex, false);
  t.def("_fft_c2c", [](B &b, T x, Dims dims, int64_t normalization, bool forward) {
    return scaled(b, transformAll(b, x, dims, forward), countOf(b, x, dims), powerOf(normalization));
  });
  t.def("_fft_r2c", [](B &b, T x, Dims dims, int64_t normalization, bool onesided) {
    T result = transform(b, asNumbers(b, x), dims.back(), true);
    result = onesided ? firstHalf(b, result, b.dim(x, dims.back())) : result;
    result = transformAll(b, result, DimsRef(dims).drop_back(), true);
    return scaled(b, result, countOf(b, x, dims), powerOf(normalization));
  });
  t.def("_fft_c2r", [](B &b, T x, Dims dims, int64_t normalization, Int n) {
    x = transformAll(b, x, DimsRef(dims).drop_back(), false);
    T result = fromHalf(b, x, dims.back(), n, false);
    return scaled(b, result, countOf(b, result, dims), powerOf(normalization));
  });
}

/// Rotates each dimension by `half` its size, rounded down or up.
static T shift(B &b, T x, Dims dims, bool isInverse) {
  for (int64_t dim : dims.empty() ? b.dims(x, {}) : dims) {
    AffineExpr n = x.size(dim), first = isInverse ? n.floorDiv(2) : (n + 1).floorDiv(2);
    x = b.cat({b.slice(x, dim, first, n), b.slice(x, dim, b.size(0), first)}, dim);
  }
  return x;
}

static void addFrequencies(Table &t) {
  t.def("fft_fftshift", [](B &b, T x, Dims dims) { return shift(b, x, dims, false); });
  t.def("fft_ifftshift", [](B &b, T x, Dims dims) { return shift(b, x, dims, true); });
  t.def("fft_fftfreq fft_rfftfreq", [](B &b, int64_t n, double spacing, Dtype) {
    mlir::Type type = b.declaredType();
    T place = b.range(b.declared()[0], type), count(double(n) * spacing);
    bool isHalf = getConstant(b.declared()[0]) != n;
    return isHalf ? place / count : b.where(place < double((n + 1) / 2), place, place - double(n)) / count;
  });
}

//===----------------------------------------------------------------------===//
// Short-time transforms
//===----------------------------------------------------------------------===//

static T stft(B &b, T x, int64_t size, std::optional<int64_t> hop, std::optional<int64_t> windowSize, OptT window,
              bool normalized, std::optional<bool> onesided) {
  int64_t step = hop.value_or(size / 4), length = windowSize.value_or(size);
  bool isVector = x.rank() == 1;
  x = isVector ? b.unsqueeze(x, 0) : x;
  AffineExpr frames = (x.size(-1) - size).floorDiv(step) + 1;
  T start = b.unsqueeze(b.range(frames, b.i64()) * step, 1), index = start + b.range(b.size(size), b.i64());
  T pieces = b.moveDim(b.gather(x, {index}, {1}), -1, 0); // batch, frames, size
  if (window || length < size) {
    T shape = window ? *window : b.full(b.size(length), 1.0, b.toFloating(b.real(x)).dtype());
    pieces = pieces * b.padDim(shape, 0, b.size((size - length) / 2), b.size(size - length - (size - length) / 2), 0);
  }
  bool isHalf = onesided.value_or(!isComplex(pieces.dtype()));
  T spectrum = transform(b, asNumbers(b, pieces), -1, true);
  spectrum = b.transpose(isHalf ? firstHalf(b, spectrum, -1) : spectrum, 1, 2);
  spectrum = normalized ? scaled(b, spectrum, b.size(size), -0.5) : spectrum;
  spectrum = isVector ? b.squeeze(spectrum, 0) : spectrum;
  return isComplex(b.declaredType()) ? spectrum : viewAsReal(b, spectrum);
}

/// Transforms back, laid one over the other and divided by the windows' squares.
static T istft(B &b, T x, int64_t size, std::optional<int64_t> hop, std::optional<int64_t> windowSize, OptT window,
               bool center, bool normalized, std::optional<bool> onesided, bool returnComplex) {
  int64_t step = hop.value_or(size / 4), length = windowSize.value_or(size);
  bool isMatrix = x.rank() == 2;
  x = b.transpose(isMatrix ? b.unsqueeze(x, 0) : x, 1, 2); // batch, frames, frequencies
  mlir::Type part = b.real(x).dtype();
  bool isHalf = onesided.value_or(getConstant(x.size(-1)) != size);
  x = scaled(b, x, b.size(size), normalized ? -0.5 : -1);
  bool isReal = isHalf || !returnComplex; // of a whole spectrum, PyTorch takes the half, too
  T pieces = isReal ? fromHalf(b, x, -1, b.size(size), false) : transform(b, x, -1, false);
  T shape = window ? *window : b.full(b.size(length), 1.0, part);
  shape = b.padDim(shape, 0, b.size((size - length) / 2), b.size(size - length - (size - length) / 2), 0);
  AffineExpr frames = x.size(1), total = (frames - 1) * step + size;
  T index = b.unsqueeze(b.range(frames, b.i64()) * step, 1) + b.range(b.size(size), b.i64());
  auto overlay = [&](T values, Shape batch) { // batch..., frames, size
    int64_t lead = batch.size();
    batch.push_back(total);
    T updates = lead ? b.permute(values, {1, 2, 0}) : values;
    return b.scatter(b.full(batch, 0, values.dtype()), updates, {index}, {lead}, "sum");
  };
  T sum = overlay(pieces * shape, {x.size(0)});
  T squares = overlay(b.expand(shape * shape, {frames, b.size(size)}), {});
  AffineExpr begin = b.size(center ? size / 2 : 0), n = b.declared().back();
  auto cut = [&](T values) { return resized(b, b.slice(values, -1, begin, total), values.rank() - 1, n); };
  T result = cut(sum) / b.to(b.where(cut(squares) == 0.0, 1.0, cut(squares)), sum.dtype());
  return isMatrix ? b.squeeze(result, 0) : result;
}

static void addShortTime(Table &t) {
  t.def("stft", [](B &b, T x, int64_t size, std::optional<int64_t> hop, std::optional<int64_t> windowSize, OptT window,
                   bool normalized, std::optional<bool> onesided, Any, Any) {
    return stft(b, x, size, hop, windowSize, window, normalized, onesided);
  });
  t.def("istft", [](B &b, T x, int64_t size, std::optional<int64_t> hop, std::optional<int64_t> windowSize, OptT window,
                    bool center, bool normalized, std::optional<bool> onesided, Any, bool returnComplex) {
    return istft(b, x, size, hop, windowSize, window, center, normalized, onesided, returnComplex);
  });
}

//===----------------------------------------------------------------------===//
// Complex numbers and their parts
//===----------------------------------------------------------------------===//

static void addParts(Table &t) {
  t.def("conj _conj _conj_copy _conj_physical conj_physical", [](B &b, T x) { return b.conj(x); });
  t.def("real", [](B &b, T x) { return b.real(x); });
  t.def("imag", [](B &b, T x) { return b.imag(x); });
  t.def("view_as_real view_as_real_copy", [](B &b, T x) { return viewAsReal(b, x); });
  t.def("view_as_complex view_as_complex_copy", [](B &b, T x) { return viewAsComplex(b, x); });
  t.def("complex", [](B &b, T re, T im) {
    mlir::Type type = b.promoted({re, im});
    Shape sizes = b.broadcastShapes({re, im});
    return b.complex(b.expand(b.to(re, type), sizes), b.expand(b.to(im, type), sizes));
  });
  t.def("polar", [](B &b, T length, T angle) {
    Shape sizes = b.broadcastShapes({length, angle});
    return b.complex(b.expand(length * b.cos(angle), sizes), b.expand(length * b.sin(angle), sizes));
  });
}

void addFourier(Table &t) {
  addTransforms(t);
  addFrequencies(t);
  addShortTime(t);
  addParts(t);
}

} // namespace ptc::decompose
