//===- BenchReport.h - what a benchmark has measured -----------------------===//
#pragma once

#include "compiler/codegen/cuda/LocalDriver.h"
#include "tools/ptc/BenchGpu.h"
#include "tools/ptc/Commands.h"
#include "tools/ptc/Library.h"

#include <optional>
#include <string>
#include <vector>

namespace ptc {

/// What a benchmark of a GPU says beside times.
struct GpuFacts {
  cuda::LocalDriver driver;
  std::string name;
  double startMs = 0; ///< of the driver with its GPU, without the model
};

struct Measured {
  std::string machine;            ///< whose code ran
  std::vector<double> sorted;     ///< milliseconds of each call
  double seconds = 0;             ///< from the first call to the end of the last
  double cpu = 0, cpuBetween = 0; ///< processor milliseconds of all threads for a call, and in the pause after it
  ptc_memory memory{};
  ptc_threading threading{};
  double threads = 0, wakeups = 0; ///< for a call
  double loadMs = 0;               ///< until the first call could begin
  std::optional<GpuFacts> gpu;     ///< nothing: the model runs on the CPU
  std::optional<GpuTimes> onGpu;   ///< of calls that do not wait for their results
};

/// To stdout, in the form that the options ask for.
void print(const Measured &measured, const Tensors &inputs, const ptc_signature &model, const BenchOptions &options);

} // namespace ptc
