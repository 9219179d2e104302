//===- Measure.h - how long compiled kernels take --------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <string>
#include <vector>

namespace ptc {

/// Milliseconds, medians over calls.
struct LibraryTimes {
  double call = 0;
  llvm::StringMap<double> kernels; ///< by the name of the loop.kernel; empty unless asked for
  int64_t threads = 0;
};

/// Opens libraries of the same model and calls them in turns on the same inputs, so that a change of the machine's
/// speed meets all of them. Given to the compiler by who can open libraries.
using Measurer =
    std::function<llvm::Expected<std::vector<LibraryTimes>>(llvm::ArrayRef<std::string> libraries, bool byKernel)>;

} // namespace ptc
