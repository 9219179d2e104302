//===- Resize.cpp - images in another size, and samples of them -----------------------===//

#include "compiler/import/onnx/Table.h"

#include <cmath>

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// One dimension that gets another size.
struct Axis {
  int64_t dim;
  AffineExpr size; ///< Of the result.
  Value scale;     ///< Of both sizes, float64 without dimensions.
  std::optional<double> known;
};

class Resizer {
public:
  Resizer(Builder &b, const Node &n) : b(b), n(n), mode(n.text("mode", "nearest")) {
    isUpsample = n.opset < 10;
    coordinates = isUpsample ? "asymmetric"
                             : n.text("coordinate_transformation_mode", n.opset < 11 ? "asymmetric" : "half_pixel");
    nearest = isUpsample || n.opset < 11 ? "floor" : n.text("nearest_mode", "round_prefer_floor");
  }

  Value resize();

private:
  bool readAxes(const Value &x);
  Value simple(const Value &x);
  Value along(const Value &x, const Axis &axis, unsigned index);
  Value sources(const Value &x, const Axis &axis, unsigned index);
  Value number(double value) { return b.number(value, b.f64()); }

  Builder &b;
  const Node &n;
  std::string mode, coordinates, nearest;
  bool isUpsample;
  std::vector<Axis> axes;
};

bool Resizer::readAxes(const Value &x) {
  int64_t rank = b.rank(x);
  Ints dims = b.dims(n.ints("axes").value_or(llvm::to_vector(llvm::seq(rank))), rank);
  if (b.hasFailed())
    return false;
  unsigned place = n.opset < 11 ? 1 : 2;
  Value scales = n.input(place), sizes = n.opset < 11 ? b.none() : n.input(3);
  if (scales && b.shape(scales) == Shape{b.constant(0)})
    scales = b.none();
  std::optional<llvm::SmallVector<double>> known;
  if (auto attribute = n.reals("scales"))
    known = attribute;
  else if (scales)
    known = b.knownReals(scales);
  auto wanted = sizes ? b.knownSizes(sizes) : std::nullopt;
  bool isDeclared = !n.declared.empty() && n.declared[0] && int64_t(n.declared[0]->size()) == rank;
  std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if ((known && known->size() != dims.size()) || (wanted && wanted->size() != dims.size())) {
    b.fail("scales or sizes are not one an axis");
    return false;
  }
  Value common; // of all axes, where their ratio stays
  if (sizes && policy != "stretch") {
    if (policy != "not_larger" && policy != "not_smaller") {
      b.fail("keep_aspect_ratio_policy '" + policy + "' is not known");
      return false;
    }
    Value all = b.to(sizes, b.f64());
    for (auto [i, dim] : llvm::enumerate(dims)) {
      Value ratio = b.select(all, 0, i) / b.size(b.size(x, dim), b.f64());
      common = i == 0 ? ratio : b.call(policy == "not_larger" ? "minimum.default" : "maximum.default", {common, ratio});
    }
  }
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Axis axis{dim, {}, {}, {}};
    AffineExpr has = b.size(x, dim);
    auto length = getConstant(has);
    if (isDeclared)
      axis.size = b.constant((*n.declared[0])[dim]);
    if (sizes) {
      if (wanted && !common)
        axis.size = (*wanted)[i];
      if (wanted && common) {
        auto ratioOf = [&](size_t k) {
          auto to = getConstant((*wanted)[k]), from = getConstant(b.size(x, dims[k]));
          return to && from && *from ? double(*to) / double(*from) : 0.0;
        };
        double best = ratioOf(0);
        for (size_t k = 1; k < dims.size(); ++k)
          best = policy == "not_larger" ? std::min(best, ratioOf(k)) : std::max(best, ratioOf(k));
        axis.known = best;
        if (length)
          axis.size = b.constant(int64_t(std::floor(best * double(*length) + 0.5)));
      } else if (axis.size && getConstant(axis.size) && length && *length && !common) {
        axis.known = double(*getConstant(axis.size)) / double(*length);
      }
      axis.scale = axis.known ? number(*axis.known)
                   : common   ? common
                              : b.to(b.select(sizes, 0, i), b.f64()) / b.size(has, b.f64());
    } else if (known) {
      axis.known = (*known)[i];
      axis.scale = number(*axis.known);
      if (length)
        axis.size = b.constant(int64_t(std::floor(double(*length) * *axis.known)));
      else if (*axis.known == std::floor(*axis.known))
        axis.size = has * int64_t(*axis.known);
    } else if (scales) {
      axis.scale = b.to(b.select(scales, 0, i), b.f64());
    } else {
      b.fail("has neither scales nor sizes");
      return false;
    }
    if (!axis.size || getConstant(axis.size).value_or(0) < 0 || (axis.known && !(*axis.known > 0))) {
      b.fail("scales or sizes must be known at compile time, or the result's shape, and positive");
      return false;
    }
    bool isSame = isEqual(axis.size, has) && axis.known == 1.0 && coordinates != "tf_crop_and_resize";
    if (!isSame)
      axes.push_back(axis);
  }
  return !b.hasFailed();
}

/// ATen's own resizing of the last two dimensions, which kernels know well.
Value Resizer::simple(const Value &x) {
  int64_t rank = b.rank(x);
  if (rank != 4 || axes.size() != 2 || axes[0].dim != 2 || axes[1].dim != 3 || !axes[0].known || !axes[1].known ||
      n.integer("antialias", 0) || n.integer("exclude_outside", 0) || !b.isFloat(x))
    return b.none();
  Shape sizes = b.shape(x), two{axes[0].size, axes[1].size};
  sizes[2] = two[0];
  sizes[3] = two[1];
  auto type = makeTensorType(sizes, b.element(x));
  auto isScaled = [&](const Axis &axis) {
    auto from = getConstant(b.size(x, axis.dim)), to = getConstant(axis.size);
    return from && to && double(*from) * *axis.known == double(*to);
  };
  // Only where PyTorch's scales, the quotients of the sizes, are the model's.
  if (!isScaled(axes[0]) || !isScaled(axes[1]))
    return b.none();
  if (mode == "nearest" && coordinates == "asymmetric" && nearest == "floor")
    return b.call("upsample_nearest2d.default", {x, two}, type);
  bool isLinear = mode == "linear" || mode == "bilinear";
  bool isLarge = getConstant(two[0]).value_or(2) > 1 && getConstant(two[1]).value_or(2) > 1;
  bool isCentered = coordinates == "half_pixel" || (coordinates == "pytorch_half_pixel" && isLarge);
  bool isAligned = coordinates == "align_corners" && isLarge;
  if (isLinear && (isCentered || isAligned))
    return b.call("upsample_bilinear2d.default", {x, two, isAligned}, type);
  return b.none();
}

/// Where in x each element of the result comes from, as ONNX's modes say. The length of the result is a whole number
/// (onnx's own evaluator takes scale times length).
Value Resizer::sources(const Value &x, const Axis &axis, unsigned index) {
  Value at = b.iota(axis.size, b.f64());
  Value length = b.size(b.size(x, axis.dim), b.f64()), resized = b.size(axis.size, b.f64());
  Value isOne = b.call("eq.Scalar", {resized, 1.0}), zero = number(0);
  if (coordinates == "asymmetric")
    return at / axis.scale;
  if (coordinates == "half_pixel")
    return (at + 0.5) / axis.scale - 0.5;
  if (coordinates == "pytorch_half_pixel")
    return b.where(isOne, zero, (at + 0.5) / axis.scale - 0.5);
  if (coordinates == "half_pixel_symmetric") {
    Value adjustment = resized / (length * axis.scale);
    return length / 2.0 * (1.0 - adjustment) + (at + 0.5) / axis.scale - 0.5;
  }
  Value last = length - 1.0, step = b.where(isOne, number(1), resized - 1.0);
  if (coordinates == "align_corners")
    return b.where(isOne, zero, at * last / step);
  if (coordinates == "tf_crop_and_resize" && n.has(1)) {
    Value roi = b.to(n[1], b.f64());
    int64_t count = b.staticSize(roi, 0) / 2;
    Value start = b.select(roi, 0, index), end = b.select(roi, 0, count + index);
    Value inside = b.where(isOne, (end - start) * last / 2.0, at * (end - start) * last / step);
    return inside + start * last;
  }
  return b.fail("coordinate_transformation_mode '" + coordinates + "' is not known");
}

/// The weights of the elements nearby, by how far behind `floor(source)` the source is. Distances are multiplied by
/// `scale`, where there is one.
Values weightsOf(Builder &b, const Value &ratio, bool isCubic, double a, const Value &scale, int64_t first,
                 int64_t count) {
  Values weights;
  for (int64_t k = 0; k < count; ++k) {
    Value d = b.call("abs.default", {double(first + k) - ratio});
    d = scale ? d * scale : d;
    if (!isCubic) {
      weights.push_back(b.clamp(1.0 - d, 0, 1));
      continue;
    }
    Value near = ((d * (a + 2) - (a + 3)) * d) * d + 1.0;
    Value far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
    Value zero = b.number(0, b.f64());
    weights.push_back(b.where(b.call("le.Scalar", {d, 1.0}), near, b.where(b.call("lt.Scalar", {d, 2.0}), far, zero)));
  }
  return weights;
}

Value Resizer::along(const Value &x, const Axis &axis, unsigned index) {
  Value source = sources(x, axis, index);
  int64_t rank = b.rank(x);
  Value last = b.size(b.size(x, axis.dim), b.f64()) - 1.0;
  auto take = [&](const Value &places) {
    Value inside = b.call("minimum.default", {b.call("clamp.default", {places, 0.0}), last});
    return b.call("index_select.default", {x, axis.dim, b.to(inside, b.i64())});
  };
  Value result;
  if (mode == "nearest") {
    Value places = nearest == "round_prefer_floor"  ? b.call("ceil.default", {source - 0.5})
                   : nearest == "round_prefer_ceil" ? b.call("floor.default", {source + 0.5})
                   : nearest == "floor"             ? b.call("floor.default", {source})
                                                    : b.call("ceil.default", {source});
    result = take(places);
  } else if (mode == "linear" || mode == "bilinear" || mode == "cubic") {
    bool isCubic = mode == "cubic";
    double reach = isCubic ? 2 : 1, least = 1;
    Value scale = b.none();
    if (n.integer("antialias", 0)) {
      auto from = getConstant(b.size(x, axis.dim)), to = getConstant(axis.size);
      // The result's size is the scale times x's, rounded down.
      bool isBounded = from && to && *from > 0;
      if (!axis.known && !isBounded)
        return b.fail("with antialias the scale or the sizes must be known at compile time");
      least = std::min(axis.known ? *axis.known : double(*to) / double(*from), 1.0);
      if (least != 1 || !axis.known)
        scale = axis.known ? number(least) : b.call("minimum.default", {axis.scale, number(1)});
    }
    if (reach > 1024 * least)
      return b.fail("a scale of less than 1 / 1024");
    int64_t first = int64_t(std::floor(-reach / least)) + 1, count = 2 - 2 * first;
    Value base = b.call("floor.default", {source}), ratio = source - base;
    Values weights = weightsOf(b, ratio, isCubic, n.real("cubic_coeff_a", -0.75), scale, first, count);
    Value total;
    for (int64_t k = 0; k < count && !b.hasFailed(); ++k) {
      Value places = base + double(first + k);
      if (n.integer("exclude_outside", 0)) {
        Value isIn = b.call("ge.Scalar", {places, 0.0}) & b.call("le.Tensor", {places, last});
        weights[k] = b.where(isIn, weights[k], number(0));
      }
      total = k == 0 ? weights[k] : total + weights[k];
    }
    bool sums = scale || n.integer("exclude_outside", 0);
    Type element = b.isFloat(x) ? b.element(x) : b.f32();
    for (int64_t k = 0; k < count && !b.hasFailed(); ++k) {
      Value weight = b.along(b.to(sums ? weights[k] / total : weights[k], element), axis.dim, rank);
      Value part = b.to(take(base + double(first + k)), element) * weight;
      result = k == 0 ? part : result + part;
    }
  } else {
    return b.fail("mode '" + mode + "' is not known");
  }
  if (coordinates == "tf_crop_and_resize") {
    Value isIn = b.call("ge.Scalar", {source, 0.0}) & b.call("le.Tensor", {source, last});
    result = b.where(b.along(isIn, axis.dim, rank), result,
                     b.full({}, n.real("extrapolation_value", 0), b.element(result)));
  }
  return result;
}

Value Resizer::resize() {
  Value x = n[0];
  if (!readAxes(x))
    return x;
  if (Value result = simple(x); result || b.hasFailed())
    return result;
  Type element = b.element(x);
  for (auto [i, axis] : llvm::enumerate(axes))
    x = along(x, axis, n.ints("axes") ? i : unsigned(axis.dim));
  if (b.element(x) != element && !isa<FloatType>(element))
    x = b.call("round.default", {x});
  return b.to(x, element);
}

Value gridSample(Builder &b, const Node &n) {
  std::string mode = n.text("mode", "linear"), padding = n.text("padding_mode", "zeros");
  int64_t interpolation = mode == "nearest" ? 1 : mode == "cubic" || mode == "bicubic" ? 2 : 0;
  int64_t outside = padding == "border" ? 1 : padding == "reflection" ? 2 : 0;
  int64_t rank = b.rank(n[0]);
  if (rank != 4 && rank != 5)
    return b.fail("needs an operand of four or five dimensions");
  Shape sizes = b.shape(n[0]), grid = b.shape(n[1]);
  if (grid.size() != sizes.size())
    return b.fail("the grid has another number of dimensions");
  for (int64_t i = 2; i < rank; ++i)
    sizes[i] = grid[i - 1];
  return b.call(rank == 4 ? "grid_sampler_2d.default" : "grid_sampler_3d.default",
                {n[0], n[1], interpolation, outside, n.integer("align_corners", 0) != 0},
                makeTensorType(sizes, b.element(n[0])));
}

Value affineGrid(Builder &b, const Node &n) {
  auto known = b.knownSizes(n[1]);
  Shape sizes = known.value_or(Shape());
  if (!known && !n.declared.empty() && n.declared[0] && n.declared[0]->size() >= 2) {
    // The grid tells the spatial sizes, theta the batch; channels are of no consequence.
    sizes = b.staticShape(*n.declared[0]);
    sizes.pop_back();
    sizes.insert(sizes.begin() + 1, b.constant(1));
  } else if (!known) {
    return b.fail("the size must be known at compile time");
  }
  if (sizes.size() != 4 && sizes.size() != 5)
    return b.fail("the size must have four or five numbers");
  Shape result(sizes);
  result.erase(result.begin() + 1);
  result.push_back(b.constant(sizes.size() - 2));
  return b.call("affine_grid_generator.default", {n[0], sizes, n.integer("align_corners", 0) != 0},
                makeTensorType(result, b.element(n[0])));
}

} // namespace

void addResize(Table &t) {
  t.row("Resize Upsample", [](Builder &b, const Node &n) { return Resizer(b, n).resize(); });
  t.row("GridSample", gridSample);
  t.row("AffineGrid", affineGrid);
}

} // namespace ptc::import::onnx
