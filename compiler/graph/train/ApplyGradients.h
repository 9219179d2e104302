//===- ApplyGradients.h - from gradients to what a step changes -----------===//
//
// In this order, each part as PyTorch has it: gradients are divided by the
// loss's scale and clipped; the learning rate follows its schedule; the
// optimizer updates parameters and what it keeps of them; averages follow.
// Where gradients came from does not matter here. States:
//
//           NAME                      a parameter, as state dicts spell it
//           optimizer/exp_avg/NAME    what an optimizer keeps of it, of its shape and type
//           optimizer.lr              a hyperparameter, f64 without dimensions (Settings.h: of groups)
//           optimizer.step            how many steps there were, i64 without dimensions
//           ema/NAME                  the average of a parameter, first the parameter itself
//           ema.decay, ema.n_averaged f64 and i64: of all averages
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/Recipe.h"
#include "compiler/graph/train/StepFunction.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace ptc::train {

/// A parameter that a step changes: a state.
struct Gradient {
  llvm::StringRef name;
  const Settings *settings;
  decompose::T parameter, gradient;
};

/// Writes the states of parameters and all others. An error says which options contradict each other.
llvm::Error applyGradients(StepFunction &f, const Recipe &recipe, llvm::ArrayRef<Gradient> gradients);

} // namespace ptc::train
