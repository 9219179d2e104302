//===- Pad.cpp - elements around tensors ---------------------------------------------- ===//

#include "compiler/import/onnx/Table.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// Around each dimension; sizes and numbers are known, or `start` is data and the result's size declared.
struct Padding {
  AffineExpr before, total;
  Value start; ///< Of `before`, int64.
};

/// The places in a dimension that padded ones take their elements from.
Value foldBack(Builder &b, const Value &places, const Value &length, llvm::StringRef mode) {
  Value last = length - 1.0;
  if (mode == "wrap")
    return b.call("remainder.Tensor", {places, length});
  if (mode == "reflect") {
    Value period = b.call("maximum.default", {last * 2.0, b.full({}, 1, b.i64())});
    Value at = b.call("remainder.Tensor", {places, period});
    return b.call("minimum.default", {at, period - at});
  }
  return b.call("minimum.default", {b.call("clamp.default", {places, 0}), last});
}

std::vector<Padding> readPadding(Builder &b, const Node &n, const Value &x) {
  int64_t rank = b.rank(x);
  std::vector<Padding> result;
  auto known = n.opset < 11 ? b.staticShape(n.ints("pads").value_or(Ints())) : b.knownSizes(n[1]);
  bool axesAreData = n.has(3) && !b.knownInts(n[3]);
  if (!known || axesAreData) {
    auto declared = declaredShape(b, n);
    if (!declared || int64_t(declared->size()) != rank) {
      b.fail("pads and axes must be known at compile time, or the result's shape");
      return {};
    }
    int64_t count = b.staticSize(n[1], 0) / 2;
    Value starts = b.to(b.slice(n[1], 0, b.constant(0), b.constant(count)), b.i64());
    if (n.has(3))
      starts = forAllAxes(b, starts, n[3], rank, 0);
    else if (count != rank)
      b.fail("pads are not two a dimension");
    for (int64_t i = 0; i < rank && !b.hasFailed(); ++i)
      result.push_back({{}, (*declared)[i], b.select(starts, 0, i)});
    return result;
  }
  Ints axes = n.has(3) ? b.dims(b.ints(n[3], "axes"), rank) : llvm::to_vector(llvm::seq(rank));
  if (b.hasFailed() || known->size() != 2 * axes.size()) {
    b.fail("pads are not two a dimension");
    return {};
  }
  for (int64_t i = 0; i < rank; ++i)
    result.push_back({b.constant(0), b.size(x, i), b.none()});
  for (auto [i, axis] : llvm::enumerate(axes)) {
    result[axis].before = (*known)[i];
    result[axis].total = b.size(x, axis) + (*known)[i] + (*known)[i + axes.size()];
  }
  return result;
}

Value pad(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x);
  Type element = b.element(x);
  std::vector<Padding> padding = readPadding(b, n, x);
  std::string mode = n.text("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "wrap" && mode != "reflect")
    return b.fail("mode '" + mode + "' is not known");
  if (b.hasFailed())
    return x;
  Value fill = n.opset < 11 ? b.number(n.real("value", 0), element) : n.input(2);
  auto number = fill ? b.knownReals(fill) : std::optional(llvm::SmallVector<double>{0});
  bool isKnown = llvm::all_of(padding, [](const Padding &p) { return !p.start; });
  if (mode == "constant" && isKnown && number && number->size() == 1) {
    Shape all;
    for (int64_t i = rank; i-- > 0;) {
      all.push_back(padding[i].before);
      all.push_back(padding[i].total - padding[i].before - b.size(x, i));
    }
    double value = number->front();
    return b.call("constant_pad_nd.default",
                  {x, all, b.isFloat(x) ? Arg(value) : b.isBool(x) ? Arg(value != 0) : Arg(int64_t(value))});
  }
  for (int64_t d = 0; d < rank && !b.hasFailed(); ++d) {
    const Padding &p = padding[d];
    AffineExpr size = b.size(x, d);
    if (!p.start && getConstant(p.before) == 0 && isEqual(p.total, size))
      continue;
    Value length = b.size(size, b.i64());
    Value places = b.iota(p.total, b.i64()) - (p.start ? p.start : b.size(p.before, b.i64()));
    x = b.call("index_select.default", {x, d, foldBack(b, places, length, mode)});
    if (mode == "constant") {
      Value inside = b.call("ge.Scalar", {places, 0}) & b.call("lt.Tensor", {places, length});
      x = b.where(b.along(inside, d, rank), x, fill ? b.reshape(fill, {}) : b.full({}, 0, element));
    }
  }
  return x;
}

/// To the middle of every dimension: cut where it is longer, with zeros around where it is shorter.
Value centerCropPad(Builder &b, const Node &n) {
  Value x = n[0];
  int64_t rank = b.rank(x);
  Ints axes = b.dims(n.ints("axes").value_or(llvm::to_vector(llvm::seq(rank))), rank);
  if (b.hasFailed())
    return x;
  auto known = b.knownInts(n[1]);
  Ints wanted = known.value_or(Ints());
  if (!known && !n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == rank)
    for (int64_t axis : axes)
      wanted.push_back((*n.declared[0])[axis]);
  if (wanted.size() != axes.size())
    return b.fail("the shape must be known at compile time, one number an axis");
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    int64_t has = b.staticSize(x, axis);
    if (has > size) {
      x = b.slice(x, axis, b.constant((has - size) / 2), b.constant((has - size) / 2 + size));
    } else if (has < size) {
      Ints pads(2 * (rank - axis), 0);
      pads[pads.size() - 2] = (size - has) / 2;
      pads[pads.size() - 1] = size - has - (size - has) / 2;
      x = b.call("constant_pad_nd.default", {x, pads});
    }
  }
  return x;
}

} // namespace

void addPad(Table &t) {
  t.row("Pad", pad);
  t.row("CenterCropPad", centerCropPad);
}

} // namespace ptc::import::onnx
