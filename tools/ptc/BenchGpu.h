//===- BenchGpu.h - times of calls on a GPU --------------------------------===//
#pragma once

#include "tools/ptc/Library.h"

namespace ptc {

/// Copies of tensors in the memory of a library's GPU, where call_new makes outputs then, too.
struct GpuTensors {
  GpuTensors() = default;
  GpuTensors(const GpuTensors &) = delete;
  ~GpuTensors();
  llvm::Error assign(const Library &library, const Tensors &tensors);

  std::vector<const DLTensor *> pointers; ///< null: an input that is left out
private:
  std::vector<DLManagedTensor *> owned;
};

/// Milliseconds of calls that do not wait for their results.
struct GpuTimes {
  std::vector<double> each; ///< of a call, for each batch of calls that are waited for together
  double seconds = 0;       ///< of all batches
  int64_t calls = 0;        ///< in them
  int64_t allCalls = 0;     ///< with those before them
  double latency = 0;       ///< of a call alone, until its results are there: the median
  double host = 0;          ///< of it, until the call returns: the median
};

/// With tensors on the GPU. The time of a batch is that of the clock from its first call to the end of the GPU's work,
/// so that it has the host's part where that is longer. At least `repeat` calls; 0: for about two seconds.
llvm::Expected<GpuTimes> measureOnGpu(const Library &library, llvm::ArrayRef<const DLTensor *> inputs,
                                      llvm::ArrayRef<DLTensor *> outputs, int repeat);

} // namespace ptc
