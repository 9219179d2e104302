//===- Boxes.h - which of boxes that overlap are kept ---------------------===//
#pragma once

#include "runtime/matrix/Number.h"

namespace ptc::matrix {

/// Boxes as two corners (x, y, x, y), the best first, and a threshold: 1 for each box that no better one which is kept
/// overlaps by more than this part of what both cover, else 0. A part that is no number is no overlap. As
/// torchvision::nms rounds: torchvision/csrc/ops/cpu/nms_kernel.cpp.
template <class Number> void suppress_overlaps(Number *const *tensors, const int64_t *sizes) {
  using Real = RealOf<Number>;
  Number *kept = tensors[2];
  Real threshold = realPart(tensors[1][0]);
  int64_t count = sizes[0];
  auto corner = [&](int64_t box, int64_t i) { return realPart(tensors[0][4 * box + i]); };
  auto larger = [](Real a, Real b) { return a < b ? b : a; };
  auto smaller = [](Real a, Real b) { return b < a ? b : a; };
  auto area = [&](int64_t box) { return (corner(box, 2) - corner(box, 0)) * (corner(box, 3) - corner(box, 1)); };
  auto common = [&](int64_t a, int64_t b, int64_t dim) {
    Real begin = larger(corner(a, dim), corner(b, dim)), end = smaller(corner(a, dim + 2), corner(b, dim + 2));
    return larger(0, end - begin);
  };
  for (int64_t box = 0; box < count; ++box)
    kept[box] = Number(Real(1));
  for (int64_t best = 0; best < count; ++best) {
    if (realPart(kept[best]) == 0)
      continue;
    Real areaOfBest = area(best);
    for (int64_t box = best + 1; box < count; ++box) {
      Real both = common(best, box, 0) * common(best, box, 1);
      if (both / (areaOfBest + area(box) - both) > threshold)
        kept[box] = Number(Real(0));
    }
  }
}

} // namespace ptc::matrix
