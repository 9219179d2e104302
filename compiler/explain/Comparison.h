//===- Comparison.h - a report beside an earlier one ------------------------===//
//
// Of the same model for another machine, by another version or with other
// options: kernels that have operators in common stand beside each other, so
// that a fusion that came or went shows as what it is.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace ptc {

struct Report;

struct Comparison {
  struct Kernel {
    std::string name, kind, algorithm;
    std::vector<std::string> ops; ///< nodes of the model
    double bytes = 0, flops = 0;
    std::optional<double> milliseconds; ///< of a call, where it was measured
  };
  struct Totals {
    double kernels = 0, bytes = 0, flops = 0, peakBytes = 0, storedBytes = 0;
    std::optional<double> milliseconds; ///< in kernels, where each was measured
  };
  /// Kernels of both that share nodes, directly or through others; in one of the reports there may be none.
  struct Row {
    std::vector<size_t> now; ///< places in the report
    std::vector<Kernel> before;
    bool isSame = false; ///< one kernel each, which differ in nothing but the name and the time
  };

  std::string baseline; ///< the earlier report, as it is named
  std::vector<Kernel> kernels;
  Totals before, now;
  std::vector<Row> rows; ///< in the order of the report's kernels, then what it has no more
};

/// `baseline`: what `ptc explain --json` wrote, from the file `name`.
llvm::Expected<Comparison> compare(const Report &report, const llvm::json::Value &baseline, llvm::StringRef name);

llvm::json::Value toJson(const Comparison &comparison);
void print(const Comparison &comparison, llvm::raw_ostream &out);

} // namespace ptc
