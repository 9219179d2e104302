//===- LossScale.h - gradients that float16 can hold ----------------------===//
//
// torch.amp.GradScaler: the loss's cotangent is a scale, which gradients are
// divided by before anything else becomes of them. Where one of them is not
// finite, the step changes nothing but the scale. States:
//
//           scaler.scale              f32, 65536 before the first step
//           scaler.growth_tracker     i64, good steps since the scale changed
//           scaler.growth_factor, scaler.backoff_factor    f64, 2 and 0.5
//           scaler.growth_interval    i64, 2000
//
// A fixed scale has no state but the first.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/StepFunction.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ptc::train {

struct LossScale {
  double first = 65536;
  bool isDynamic = true;
};

/// "dynamic" or a number.
llvm::Expected<LossScale> parseLossScale(llvm::StringRef text);

/// The loss's cotangent, of its type.
decompose::T scaleLoss(StepFunction &f, const LossScale &scale, mlir::Type loss);

/// Divides gradients by the scale; whether all of them were finite.
decompose::T unscale(StepFunction &f, const LossScale &scale, llvm::MutableArrayRef<decompose::T> gradients);

/// What the scale is after a step.
void updateScale(StepFunction &f, const LossScale &scale, decompose::T isFinite);

} // namespace ptc::train
