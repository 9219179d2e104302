//===- Html.h - the report as one page -------------------------------------===//
#pragma once

#include "compiler/explain/CaptureReport.h"

namespace ptc {

/// What the machine can do at best: where a kernel stands is measured by it.
struct MachineLimits {
  double gigaflops = 0, gigabytes = 0; ///< in a second
  std::string origin;                  ///< how they are known
};

/// Self-contained: styles, script and data are inside, and nothing is loaded. Lines of the user's program are in it
/// where its files can be read.
void printHtml(const Report &report, const MachineLimits &limits, llvm::raw_ostream &out);
void printHtml(const CaptureReport &report, const MachineLimits &limits, llvm::raw_ostream &out);

} // namespace ptc
