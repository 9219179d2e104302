#include "compiler/graph/decompose/Table.h"

namespace ptc::decompose {

using mlir::AffineExpr;

namespace {
struct Window {
  Dims stride, padding, dilation, outputPadding;
  int64_t groups = 1;
  bool isTransposed = false;
};
} // namespace

/// `int[2]` given as one number holds for every dimension.
static Dims perDimension(Dims list, int64_t spatial, int64_t otherwise) {
  if (list.empty())
    list.push_back(otherwise);
  if (list.size() == 1)
    list.assign(spatial, list[0]);
  return list;
}

static T addBias(B &b, T y, OptT bias) {
  if (!bias)
    return y;
  Shape sizes(y.rank(), b.size(1));
  sizes[1] = bias->size(0);
  return y + b.broadcastInDim(*bias, sizes, {1});
}

/// [in, out / groups, kernel...] as the weight of the convolution that computes
/// the transposed one: [out, in / groups, reversed kernel...].
static T transposedWeight(B &b, T w, int64_t groups) {
  Dims spatial;
  for (int64_t d = 2; d < w.rank(); ++d)
    spatial.push_back(d);
  w = b.reverse(w, spatial);
  Shape sizes = w.sizes(), grouped = sizes;
  grouped[0] = sizes[0].floorDiv(groups);
  if (groups == 1)
    return b.transpose(w, 0, 1);
  grouped.insert(grouped.begin(), b.size(groups));
  T swapped = b.transpose(b.reshape(w, grouped), 1, 2);
  Shape result = sizes;
  result[0] = sizes[1] * groups, result[1] = grouped[1];
  return b.reshape(swapped, result);
}

/// Where there are pictures, the size is not 0.
static void requireIfBatched(B &b, T x, AffineExpr size) {
  AffineExpr one = b.size(1), count = getConstant(x.size(0)).value_or(0) ? one : x.size(0);
  if (!b.isNoMore(one, size))
    b.require(count, count * size);
}

/// What PyTorch asks of the sizes: kernels, and pictures with pixels.
static void requireOperands(B &b, T x, T w) {
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != 1 && !getConstant(w.size(d)))
      b.require(b.size(1), w.size(d));
  for (int64_t d = 2; d < x.rank(); ++d)
    requireIfBatched(b, x, x.size(d));
}

/// With what is added to x, the kernel fits into it, even where there are no pictures.
static void requireWindow(B &b, T x, T w, ShapeRef low, ShapeRef high, DimsRef dilation) {
  for (size_t d = 0; d < low.size(); ++d)
    if (!getConstant(x.size(d + 2)) || !getConstant(w.size(d + 2)))
      b.require((w.size(d + 2) - 1) * dilation[d] + 1, x.size(d + 2) + low[d] + high[d]);
}

static T convolve(B &b, T x, T w, OptT bias, Window window) {
  int64_t spatial = w.rank() - 2;
  bool isBatched = x.rank() == w.rank();
  x = isBatched ? x : b.unsqueeze(x, 0);
  requireOperands(b, x, w);
  Dims stride = perDimension(window.stride, spatial, 1), dilation = perDimension(window.dilation, spatial, 1);
  Dims padding = perDimension(window.padding, spatial, 0), one(spatial, 1);
  Shape low;
  for (int64_t size : padding)
    low.push_back(b.size(size));
  Shape high = low;
  T y;
  if (window.isTransposed) {
    Dims extra = perDimension(window.outputPadding, spatial, 0);
    for (int64_t d = 0; d < spatial; ++d) {
      low[d] = (w.size(d + 2) - 1) * dilation[d] - padding[d];
      high[d] = low[d] + extra[d];
    }
    if (!getConstant(w.size(1)))
      b.require(b.size(1), w.size(1));
    y = b.convolution(x, transposedWeight(b, w, window.groups), one, low, high, dilation, stride, window.groups);
    for (int64_t d = 2; d < y.rank(); ++d) {
      if (getConstant(y.size(d)))
        continue;
      b.require(b.size(0), y.size(d));
      requireIfBatched(b, x, y.size(d));
    }
  } else {
    requireWindow(b, x, w, low, high, dilation);
    y = b.convolution(x, w, stride, low, high, dilation, one, window.groups);
  }
  y = addBias(b, y, bias);
  return isBatched ? y : b.reshape(y, b.declared());
}

/// padding = "same" or "valid".
static T convolvePadded(B &b, T x, T w, OptT bias, Dims stride, Str padding, Dims dilation, int64_t groups) {
  int64_t spatial = w.rank() - 2;
  if (padding == "valid")
    return convolve(b, x, w, bias, {stride, {}, dilation, {}, groups, false});
  bool isBatched = x.rank() == w.rank();
  x = isBatched ? x : b.unsqueeze(x, 0);
  requireOperands(b, x, w);
  dilation = perDimension(dilation, spatial, 1);
  Dims one(spatial, 1);
  Shape low, high;
  for (int64_t d = 0; d < spatial; ++d) {
    AffineExpr total = (w.size(d + 2) - 1) * dilation[d];
    low.push_back(total.floorDiv(2));
    high.push_back(total - low.back());
  }
  requireWindow(b, x, w, low, high, dilation);
  T y = b.convolution(x, w, perDimension(stride, spatial, 1), low, high, dilation, one, groups);
  y = addBias(b, y, bias);
  return isBatched ? y : b.reshape(y, b.declared());
}

static void addConvolutions(Table &t) {
  t.def("conv1d conv2d conv3d",
        [](B &b, T x, T w, OptT bias, Dims stride, Dims padding, Dims dilation, int64_t groups) {
          return convolve(b, x, w, bias, {stride, padding, dilation, {}, groups, false});
        });
  t.def("conv1d.padding conv2d.padding conv3d.padding _convolution_mode",
        [](B &b, T x, T w, OptT bias, Dims stride, Str padding, Dims dilation, int64_t groups) {
          return convolvePadded(b, x, w, bias, stride, padding, dilation, groups);
        });
  t.def("conv_transpose1d conv_transpose2d.input conv_transpose3d.input",
        [](B &b, T x, T w, OptT bias, Dims stride, Dims padding, Dims outputPadding, int64_t groups, Dims dilation) {
          return convolve(b, x, w, bias, {stride, padding, dilation, outputPadding, groups, true});
        });
  t.def("convolution _convolution.deprecated _convolution convolution_overrideable",
        [](B &b, T x, T w, OptT bias, Dims stride, Dims padding, Dims dilation, bool transposed, Dims outputPadding,
           int64_t groups, Rest) {
          return convolve(b, x, w, bias, {stride, padding, dilation, outputPadding, groups, transposed});
        });
  t.def("_conv_depthwise2d conv_depthwise3d",
        [](B &b, T x, T w, Any, OptT bias, Dims stride, Dims padding, Dims dilation) {
          return convolve(b, x, w, bias, {stride, padding, dilation, {}, getConstant(x.size(1)).value_or(1), false});
        });
  t.def("thnn_conv2d slow_conv3d", [](B &b, T x, T w, Any, OptT bias, Dims stride, Dims padding) {
    return convolve(b, x, w, bias, {stride, padding, {}, {}, 1, false});
  });
}

/// How many elements a window has, each of which takes operations of its own.
static int64_t countTaps(const Dims &kernel) {
  int64_t rows = checkMost(kernel[0], kMostUnrolled), columns = checkMost(kernel[1], kMostUnrolled);
  if (rows < 1 || columns < 1)
    throwMisfit("a window without elements");
  return checkMost(rows * columns, kMostUnrolled);
}

/// The windows of x as columns: [N, C * kernel, places].
static T im2col(B &b, T x, Dims kernel, Dims dilation, Dims padding, Dims stride) {
  bool isBatched = x.rank() == 4;
  countTaps(kernel);
  b.requireElementsOfLast(x, 3);
  x = isBatched ? x : b.unsqueeze(x, 0);
  AffineExpr zero = b.size(0), rows = b.size(padding[0]), columns = b.size(padding[1]);
  x = b.pad(x, {zero, zero, rows, columns}, {zero, zero, rows, columns}, 0);
  for (int64_t d : {0, 1})
    if (!getConstant(x.size(d + 2)))
      b.require(b.size(dilation[d] * (kernel[d] - 1) + 1), x.size(d + 2));
  auto places = [&](int64_t d) {
    return (x.size(d + 2) - dilation[d] * (kernel[d] - 1) - 1).floorDiv(stride[d]) + 1;
  };
  auto shifted = [&](T y, int64_t d, int64_t offset) {
    AffineExpr start = b.size(offset * dilation[d]);
    return b.slice(y, d + 2, start, start + (places(d) - 1) * stride[d] + 1, stride[d]);
  };
  TList taps;
  for (int64_t i = 0; i < kernel[0]; ++i)
    for (int64_t j = 0; j < kernel[1]; ++j)
      taps.push_back(shifted(shifted(x, 0, i), 1, j));
  T columnsOfTaps = b.stack(taps, 2);
  return b.reshape(columnsOfTaps, b.declared());
}

/// The sum of columns into the places that im2col read.
static T col2im(B &b, T x, Ints output, Dims kernel, Dims dilation, Dims padding, Dims stride) {
  bool isBatched = x.rank() == 3;
  b.requireElementsOfLast(x, 2);
  x = isBatched ? x : b.unsqueeze(x, 0);
  int64_t taps = countTaps(kernel);
  auto places = [&](int64_t d) {
    return (output[d] + (2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1)).floorDiv(stride[d]) + 1;
  };
  T tapped = b.reshape(x, {x.size(0), x.size(1).floorDiv(taps), b.size(taps), places(0), places(1)});
  T image;
  for (int64_t tap = 0; tap < taps; ++tap) {
    T part = b.select(tapped, 2, b.size(tap));
    Shape low(4, b.size(0)), high = low;
    for (int64_t d = 0; d < 2; ++d) {
      int64_t offset = (d == 0 ? tap / kernel[1] : tap % kernel[1]) * dilation[d] - padding[d];
      low[d + 2] = b.size(offset);
      high[d + 2] = output[d] - offset - (places(d) - 1) * stride[d] - 1;
    }
    T spread = b.pad(part, low, high, 0, {0, 0, stride[0] - 1, stride[1] - 1});
    image = image ? image + spread : spread;
  }
  return b.reshape(image, b.declared());
}

void addConvolution(Table &t) {
  addConvolutions(t);
  t.def("im2col", [](B &b, T x, Dims kernel, Dims dilation, Dims padding, Dims stride) {
    return im2col(b, x, kernel, dilation, padding, stride);
  });
  t.def("col2im", [](B &b, T x, Ints output, Dims kernel, Dims dilation, Dims padding, Dims stride) {
    return col2im(b, x, output, kernel, dilation, padding, stride);
  });
}

} // namespace ptc::decompose
