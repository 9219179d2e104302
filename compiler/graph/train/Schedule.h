//===- Schedule.h - the learning rate over the steps ----------------------===//
//
// A factor of the learning rate, from how many steps there were. Its numbers are
// states, so that they are set without compiling again:
//
//           schedule.steps            a number, f64 without dimensions
//           schedule.milestones       places, f64, in one dimension
//
// docs/training.md has the formulas.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/train/StepFunction.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace ptc::train {

struct ScheduleRow;

/// A schedule with the numbers that a user gave.
struct Schedule {
  const ScheduleRow *row = nullptr;
  llvm::StringMap<std::vector<double>> values; ///< by option; one each, but for lists
};

/// "cosine:warmup=100,steps=10000". An error lists what there is.
llvm::Expected<Schedule> parseSchedule(llvm::StringRef text);

/// What the learning rate is multiplied with, f64; `done` (i64) steps were before this one.
decompose::T computeFactor(StepFunction &f, const Schedule &schedule, decompose::T done);

} // namespace ptc::train
