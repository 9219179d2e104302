//===- ClipGradients.h - gradients of limited size ------------------------===//
//
// torch.nn.utils.clip_grad_norm_ and clip_grad_value_. The limits are states,
// `clip.norm` and `clip.value`, f64 without dimensions.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/StepFunction.h"

#include "llvm/ADT/ArrayRef.h"

namespace ptc::train {

/// Scales gradients so that the norm of all their elements together is `limit` at most; the norm before that is the
/// output `grad_norm`, of the type that the gradients' types promote to.
void clipNorm(StepFunction &f, double limit, llvm::MutableArrayRef<decompose::T> gradients);

/// Elements from -limit to limit; those of complex gradients in both their parts.
void clipValue(StepFunction &f, double limit, llvm::MutableArrayRef<decompose::T> gradients);

} // namespace ptc::train
