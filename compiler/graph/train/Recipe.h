//===- Recipe.h - what a step does with gradients -------------------------===//
//
// What options of the command line say, in the order in which it happens.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/LossScale.h"
#include "compiler/graph/train/Schedule.h"
#include "compiler/graph/train/Settings.h"

#include <optional>
#include <vector>

namespace ptc {
struct Training;
}

namespace ptc::train {

struct Recipe {
  std::optional<LossScale> lossScale;
  std::optional<double> clipNorm, clipValue;
  std::optional<Schedule> schedule;
  std::vector<Settings> settings; ///< of the parameters in no group, then of each group
  std::optional<double> decay;    ///< of averages of parameters
};

/// An error names the option.
llvm::Expected<Recipe> parseRecipe(const Training &training);

} // namespace ptc::train
