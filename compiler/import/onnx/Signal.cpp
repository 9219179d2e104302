//===- Signal.cpp - windows, Fourier transforms, determinants, images of columns ----------===//

#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// a0 - a1 * cos(2 pi i / n) + a2 * cos(4 pi i / n)
Value window(Builder &b, const Node &n, double a0, double a1, double a2) {
  Type element = n.hasAttribute("output_datatype") ? n.elementType("output_datatype") : b.f32();
  auto known = b.knownSizes(n[0]);
  AffineExpr size = known && known->size() == 1 ? known->front()
                    : !n.declared.empty() && n.declared[0] && n.declared[0]->size() == 1
                        ? b.constant(n.declared[0]->front())
                        : AffineExpr();
  if (!size)
    return b.fail("the size must be known at compile time");
  Value count = b.size(n.integer("periodic", 1) ? size : size - 1, b.f64());
  Value angle = b.iota(size, b.f64()) * (2 * M_PI) / count;
  Value result = b.call("cos.default", {angle}) * -a1 + a0;
  if (a2 != 0)
    result = result + b.call("cos.default", {angle * 2.0}) * a2;
  return b.to(result, element);
}

Type complexOf(Type element) { return ComplexType::get(element); }

/// The last dimension of one or two numbers as real or complex ones.
Value fromParts(Builder &b, const Value &x, bool &isReal) {
  int64_t rank = b.rank(x), parts = b.staticSize(x, rank - 1);
  isReal = parts == 1;
  Shape sizes = b.shape(x);
  if (b.hasFailed() || (parts != 1 && parts != 2))
    return b.fail("the last dimension must be 1 (real) or 2 (complex)");
  sizes.pop_back();
  if (isReal)
    return b.reshape(x, sizes);
  return b.call("view_as_complex.default", {x}, makeTensorType(sizes, complexOf(b.element(x))));
}

Value toParts(Builder &b, const Value &x, Type part) {
  Shape sizes = b.shape(x);
  sizes.push_back(b.constant(2));
  return b.call("view_as_real.default", {x}, makeTensorType(sizes, part));
}

Value fourierAlong(Builder &b, const Node &n, int64_t axis) {
  Value x = n[0];
  Type element = b.element(x);
  bool isOneSided = n.integer("onesided", 0), isInverse = n.integer("inverse", 0), isReal;
  x = fromParts(b, x, isReal);
  if (b.hasFailed())
    return x;
  bool isRealResult = isInverse && isOneSided;
  int64_t length = n.has(1) ? 0 : b.staticSize(x, axis);
  if (!n.has(1) && isRealResult)
    length = 2 * (length - 1);
  if (n.has(1)) {
    auto known = b.knownInts(n[1]);
    if (known && known->size() == 1)
      length = known->front();
    else if (!n.declared.empty() && n.declared[0] && (isRealResult || !isOneSided) &&
             int64_t(n.declared[0]->size()) == b.rank(n[0]))
      length = (*n.declared[0])[axis];
    else
      return b.fail("dft_length must be known at compile time");
  }
  if (length <= 0)
    return b.fail("a length of " + llvm::Twine(length));
  Shape sizes = b.shape(x);
  sizes[axis] = b.constant(isOneSided && !isInverse ? length / 2 + 1 : length);
  if (isRealResult) {
    Value real = b.call("fft_irfft.default", {x, length, axis}, makeTensorType(sizes, element));
    sizes.push_back(b.constant(1));
    return b.reshape(real, sizes);
  }
  if (isOneSided && !isReal)
    return b.fail("a one-sided transform of complex numbers");
  const char *name = isInverse ? "fft_ifft.default" : isOneSided ? "fft_rfft.default" : "fft_fft.default";
  Value result = b.call(name, {x, length, axis}, makeTensorType(sizes, complexOf(element)));
  return toParts(b, result, element);
}

Value fourier(Builder &b, const Node &n) {
  int64_t rank = b.rank(n[0]), axis = n.opset >= 20 ? -2 : n.integer("axis", 1);
  if (n.opset >= 20 && n.has(2)) {
    auto known = b.knownInts(n[2]);
    bool keepsSize = !n.integer("onesided", 0) && !n.has(1);
    if (!known && !keepsSize && !n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == rank) {
      // The one dimension whose size changes is the axis.
      Ints changed;
      for (int64_t i = 0; i + 1 < rank; ++i)
        if (b.staticSize(n[0], i) != (*n.declared[0])[i])
          changed.push_back(i);
      if (changed.size() == 1)
        known = changed;
    }
    if (!known && keepsSize)
      return alongDataAxis(b, n[2], rank - 1, [&](int64_t d) { return fourierAlong(b, n, d); });
    if (!known || known->size() != 1)
      return b.fail("the axis must be known at compile time");
    axis = known->front();
  }
  axis = b.dim(axis, rank);
  if (b.hasFailed() || axis >= rank - 1)
    return b.fail("the axis must not be that of the parts");
  return fourierAlong(b, n, axis);
}

/// Frames that overlap, windowed and transformed.
Value shortTime(Builder &b, const Node &n) {
  Value x = n[0];
  Type element = b.element(x);
  bool isOneSided = n.integer("onesided", 1), isReal;
  auto known = b.knownInts(n[1]);
  Ints step = known.value_or(Ints{1});
  x = b.rank(x) == 2 ? x : fromParts(b, x, isReal);
  if (b.rank(n[0]) == 2)
    isReal = true;
  int64_t size = 0;
  if (n.has(3))
    size = b.ints(n[3], "frame_length").empty() ? 0 : b.ints(n[3], "frame_length").front();
  else if (n.has(2))
    size = b.staticSize(n[2], 0);
  if (b.hasFailed() || size <= 0 || step.size() != 1 || step[0] <= 0 || b.rank(x) != 2)
    return b.fail("needs a batch of signals, a positive frame_step, and a window or frame_length");
  int64_t length = b.staticSize(x, 1), frames = length < size ? 0 : (length - size) / step[0] + 1;
  // A step that is data: how many frames there are must be said by the model.
  if (!known && (n.declared.empty() || !n.declared[0] || n.declared[0]->size() != 4))
    return b.fail("frame_step must be known at compile time, or the result's shape");
  if (!known)
    frames = (*n.declared[0])[1];
  if (frames <= 0 || frames > length)
    return b.fail("the signal is shorter than a frame");
  Value starts = b.iota(b.constant(frames), b.i64());
  starts = b.along(known ? starts * double(step[0]) : starts * b.reshape(b.to(n[1], b.i64()), {}), 0, 2);
  Value places = starts + b.along(b.iota(b.constant(size), b.i64()), 1, 2);
  Value flat = b.reshape(places, b.constant(frames * size));
  Shape sizes{b.size(x, 0), b.constant(frames), b.constant(size)};
  Value cut = b.reshape(b.call("index_select.default", {x, 1, flat}), sizes);
  if (n.has(2))
    cut = cut * n[2];
  if (isOneSided)
    sizes[2] = b.constant(size / 2 + 1);
  if (isOneSided && !isReal)
    return b.fail("a one-sided transform of complex numbers");
  Value result = b.call(isOneSided ? "fft_rfft.default" : "fft_fft.default", {cut, size, 2},
                        makeTensorType(sizes, complexOf(element)));
  return toParts(b, result, element);
}

/// ONNX's own formula: triangles over bins of equal distance in mel.
Value melWeights(Builder &b, const Node &n) {
  double numbers[5];
  for (unsigned i = 0; i < 5; ++i)
    numbers[i] = b.real(n[i], "every number");
  Type element = n.hasAttribute("output_datatype") ? n.elementType("output_datatype") : b.f32();
  int64_t bins = int64_t(numbers[0]), length = int64_t(numbers[1]), rate = int64_t(numbers[2]);
  if (b.hasFailed() || bins <= 0 || length <= 0 || rate <= 0 || bins > 1 << 12 || length > 1 << 20)
    return b.fail("the numbers of bins and the rates must be positive");
  int64_t spectrum = length / 2 + 1;
  if (spectrum * bins > 1 << 22)
    return b.fail("a matrix of more than 4194304 elements");
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double low = mel(numbers[3]), step = (mel(numbers[4]) - low) / (bins + 2);
  std::vector<int64_t> places(bins + 2);
  for (int64_t i = 0; i < bins + 2; ++i) {
    double hertz = 700 * (std::pow(10, (i * step + low) / 2595) - 1);
    double place = std::floor((length + 1) * hertz / rate);
    if (!(std::abs(place) <= 1 << 24))
      return b.fail("an edge at " + std::to_string(hertz) + " Hz");
    places[i] = int64_t(place);
  }
  Literal literal{b.f32(), {spectrum, bins}, std::vector<Expression>(spectrum * bins, Expression::makeReal(0))};
  for (int64_t i = 0; i < bins; ++i) {
    int64_t first = places[i], middle = places[i + 1], last = places[i + 2];
    auto set = [&](int64_t row, double value) {
      if (row >= 0 && row < spectrum)
        literal.elements[row * bins + i] = Expression::makeReal(value);
    };
    if (middle == first)
      set(middle, 1);
    for (int64_t k = first; middle > first && k <= middle; ++k)
      set(k, double(k - first) / double(middle - first));
    for (int64_t k = middle; last > middle && k < last; ++k)
      set(k, double(last - k) / double(last - middle));
  }
  return b.to(b.constantTensor(std::move(literal)), element);
}

/// Blocks, which are columns, added up where they lie in the image. What their sizes are may be data, where the model
/// says how many channels the image has.
Value columnsToImage(Builder &b, const Node &n) {
  auto known = b.knownInts(n[1]), block = b.knownInts(n[2]);
  bool isDeclared = !n.declared.empty() && n.declared[0] && n.declared[0]->size() > 2;
  Ints declared = isDeclared ? *n.declared[0] : Ints(), image = known.value_or(Ints());
  if (!known && isDeclared)
    image.assign(declared.begin() + 2, declared.end());
  if (image.empty() || (!block && !isDeclared))
    return b.fail("image_shape and block_shape must be known at compile time, or the result's shape");
  size_t count = image.size();
  Ints strides = n.ints("strides", count, 1), dilations = n.ints("dilations", count, 1),
       pads = n.ints("pads", 2 * count, 0);
  int64_t taps = 1, all = 1, columns = b.staticSize(n[0], 1);
  for (size_t i = 0; i < count; ++i) {
    bool fits = !block || (block->size() == count && (*block)[i] > 0);
    if (!fits || strides[i] <= 0 || dilations[i] <= 0 || image[i] <= 0)
      return b.fail("image_shape and block_shape do not fit");
    taps *= block ? (*block)[i] : 1;
    all *= image[i];
  }
  int64_t channels = block ? columns / taps : declared[1];
  if (channels <= 0 || columns % channels)
    return b.fail("the columns are no whole blocks of " + llvm::Twine(channels) + " channels");
  taps = columns / channels;
  AffineExpr blocks = b.size(n[0], 2), batch = b.size(n[0], 0);
  // The place of tap t of block l, one dimension after the other, last one first.
  Value tap = b.along(b.iota(b.constant(taps), b.i64()), 0, 2), at = b.along(b.iota(blocks, b.i64()), 1, 2);
  Value place = b.none(), inside = b.none();
  int64_t stride = 1;
  auto whole = [&](int64_t number) { return b.full({}, number, b.i64()); };
  auto divide = [&](const Value &x, const Value &by) {
    return b.call("div.Tensor_mode", {x, by, named("rounding_mode", "floor")});
  };
  for (size_t i = count; i-- > 0;) {
    Value extent = block ? whole((*block)[i]) : b.select(b.to(n[2], b.i64()), 0, i);
    int64_t last = image[i] + pads[i] + pads[count + i] - 1;
    if (block && last < dilations[i] * ((*block)[i] - 1))
      return b.fail("the blocks are larger than the image");
    Value rows = divide(double(last) - (extent - 1.0) * double(dilations[i]), whole(strides[i])) + 1.0;
    Value t = b.call("remainder.Tensor", {tap, extent}), l = b.call("remainder.Tensor", {at, rows});
    tap = divide(tap, extent);
    at = divide(at, rows);
    Value row = l * double(strides[i]) + t * double(dilations[i]) - double(pads[i]);
    Value isIn = b.call("ge.Scalar", {row, 0}) & b.call("lt.Scalar", {row, image[i]});
    inside = inside ? inside & isIn : isIn;
    place = place ? place + row * double(stride) : row;
    stride *= image[i];
  }
  // What lies outside goes to a place of its own.
  place = b.where(inside, place, whole(all));
  AffineExpr c = b.constant(channels), flat = b.constant(taps) * blocks;
  Value source = b.reshape(n[0], {batch, c, flat});
  Value index = b.expand(b.reshape(place, {b.constant(1), b.constant(1), flat}), {batch, c, flat});
  Value zeros = b.full({batch, c, b.constant(all + 1)}, 0, b.element(n[0]));
  Value sums = b.call("scatter_add.default", {zeros, 2, index, source});
  Shape sizes{batch, c};
  for (int64_t size : image)
    sizes.push_back(b.constant(size));
  return b.reshape(b.slice(sums, 2, b.constant(0), b.constant(all)), sizes);
}

} // namespace

void addSignal(Table &t) {
  t.row("HannWindow", [](Builder &b, const Node &n) { return window(b, n, 0.5, 0.5, 0); });
  t.row("HammingWindow", [](Builder &b, const Node &n) { return window(b, n, 25.0 / 46, 21.0 / 46, 0); });
  t.row("BlackmanWindow", [](Builder &b, const Node &n) { return window(b, n, 0.42, 0.5, 0.08); });
  t.row("DFT", fourier);
  t.row("STFT", shortTime);
  t.row("MelWeightMatrix", melWeights);
  t.row("Col2Im", columnsToImage);
  t.row("Det", [](Builder &b, const Node &n) {
    if (b.rank(n[0]) < 2)
      return b.fail("needs matrices");
    Shape sizes = b.shape(n[0]);
    sizes.resize(sizes.size() - 2);
    return b.call("linalg_det.default", {n[0]}, makeTensorType(sizes, b.element(n[0])));
  });
}

} // namespace ptc::import::onnx
