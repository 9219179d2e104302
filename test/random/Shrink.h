//===- Shrink.h - a failing case => a small one that fails alike ----------===//
#pragma once

#include "test/random/Check.h"

namespace ptc::test {

/// Takes away calls, outputs and operations, whose values become inputs, as long as the case fails with the same
/// outcome; then sizes become constants, and inputs zeros and ones.
Case shrink(Case program, const Verdict &verdict, const std::string &folder, Checker checker);

} // namespace ptc::test
