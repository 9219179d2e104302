#include "compiler/graph/train/LossScale.h"

#include <limits>

namespace ptc::train {

using decompose::B;
using decompose::T;

llvm::Expected<LossScale> parseLossScale(llvm::StringRef text) {
  if (text == "dynamic")
    return LossScale{};
  double value;
  if (!text.getAsDouble(value) && value <= std::numeric_limits<float>::max() && float(value) > 0)
    return LossScale{value, /*isDynamic=*/false};
  return llvm::createStringError("--loss-scale is '" + text + "', and neither dynamic nor a number above 0");
}

/// As it is before the step.
static T getScale(StepFunction &f, const LossScale &scale) { return f.number("scaler.scale", f.b.f32(), scale.first); }

T scaleLoss(StepFunction &f, const LossScale &scale, mlir::Type loss) { return f.b.to(getScale(f, scale), loss); }

T unscale(StepFunction &f, const LossScale &scale, llvm::MutableArrayRef<T> gradients) {
  B &b = f.b;
  f.startPart("unscale");
  T inverse = b.to(b.reciprocal(b.to(getScale(f, scale), b.f64())), b.f32());
  T isFinite = b.tensor(true, b.boolean());
  for (T &gradient : gradients)
    gradient = mapParts(gradient, [&](T part) {
      isFinite = isFinite & b.all(b.isFinite(part), {});
      return part * b.to(inverse, part.dtype());
    });
  return isFinite;
}

void updateScale(StepFunction &f, const LossScale &scale, T isFinite) {
  if (!scale.isDynamic)
    return;
  B &b = f.b;
  f.startPart("loss_scale");
  T before = getScale(f, scale), exact = b.to(before, b.f64());
  T larger = b.to(exact * f.number("scaler.growth_factor", b.f64(), 2), b.f32());
  T smaller = b.to(exact * f.number("scaler.backoff_factor", b.f64(), 0.5), b.f32());
  T good = f.number("scaler.growth_tracker", b.i64(), 0) + 1;
  T isDue = good == f.number("scaler.growth_interval", b.i64(), 2000);
  T grown = b.where(isDue & b.isFinite(larger), larger, before);
  f.write("scaler.scale", b.where(isFinite, grown, smaller));
  f.write("scaler.growth_tracker", b.where(isFinite & ~isDue, good, 0));
}

} // namespace ptc::train
