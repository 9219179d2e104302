//===- LocalDriver.h - what this machine's NVIDIA driver says ---------------===//
//
// For reports. ptc needs no driver to compile, and libraries ask their own (runtime/cuda).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptc::cuda {

struct LocalGpu {
  std::string name;
  int major = 0, minor = 0; ///< compute capability
  uint64_t bytes = 0;       ///< of memory
};

struct LocalDriver {
  std::string release;        ///< "580.82.07"; empty: the system does not say
  int major = 0, minor = 0;   ///< of CUDA: 13.0; 0: the driver does not say
  std::vector<LocalGpu> gpus; ///< in the driver's order

  /// The newest version of PTX that it assembles: "9.0"; empty where that is not known.
  std::string newestPtx() const;
};

/// Fails where there is no driver, or one that does not start, with the reason.
llvm::Expected<LocalDriver> askDriver();

/// Starts the first GPU for this process, as whoever uses it would.
llvm::Error startGpu();

} // namespace ptc::cuda
