//===- ProfileFile.h - what a profile says of a library's kernels ----------===//
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace ptc {

/// Of each kernel by its name, the milliseconds of a call in which any thread was at it: the median of the calls in the
/// trace that `ptc run --profile` or a context wrote.
llvm::Expected<llvm::StringMap<double>> readProfile(llvm::StringRef path);

/// 0 of none.
double median(std::vector<double> values);

} // namespace ptc
