//===- Deformable.cpp - convolutions whose weights look where data say ------------===//

#include "compiler/import/onnx/Table.h"
#include "compiler/import/onnx/Windows.h"

using namespace mlir;

namespace ptc::import::onnx {
namespace {

/// A call must give an offset in both dimensions for each tap of the kernel at each place of the result.
void requireOffsets(Builder &b, const Value &x, const Value &offsets, const Windows &windows, int64_t groups) {
  Shape sizes = b.shape(x), given = b.shape(offsets);
  b.require(given[0], sizes[0]);
  b.require(given[1], b.constant(groups * windows.kernel[0] * windows.kernel[1] * 2));
  for (int64_t i : {0, 1}) {
    AffineExpr rest = sizes[2 + i] + windows.before[i] + windows.after[i] - windows.extent(i);
    b.require(given[2 + i], rest.floorDiv(windows.strides[i]) + 1);
  }
}

Value deformConv(Builder &b, const Node &n) {
  Value x = n[0], weights = n[1], offsets = n[2];
  if (b.rank(x) != 4 || b.rank(weights) != 4 || b.rank(offsets) != 4)
    return b.fail("needs images, weights and offsets of two spatial dimensions");
  Windows windows = readWindows(b, n, x, kernelOf(b, n, x, weights));
  if (b.hasFailed())
    return x;
  int64_t groups = n.integer("group", 1), offsetGroups = n.integer("offset_group", 1);
  if (groups < 1 || offsetGroups < 1 || offsetGroups > b.staticSize(x, 1) || groups > b.staticSize(x, 1))
    return b.fail("channels must divide into the groups");
  requireOffsets(b, x, offsets, windows, offsetGroups);
  Ints pads = windows.before;
  if (!windows.isSymmetric()) {
    x = padSpatial(b, x, windows.before, windows.after, 0);
    pads = {0, 0};
  }
  Type element = b.element(x);
  Value bias = n.has(3) ? n[3] : b.full(b.size(weights, 0), 0, element);
  Value mask = n.has(4) ? n[4] : b.full({}, 0, element);
  return b.call("torchvision.deform_conv2d.default",
                {x, weights, offsets, mask, bias, windows.strides[0], windows.strides[1], pads[0], pads[1],
                 windows.dilations[0], windows.dilations[1], groups, offsetGroups, bool(n.has(4))});
}

} // namespace

void addDeformable(Table &t) { t.row("DeformConv", deformConv); }

} // namespace ptc::import::onnx
