//===- Generate.h - a seed => a program of prims and inputs for it --------===//
#pragma once

#include "test/random/Case.h"

namespace ptc::test {

/// The same case for the same seed. The program is valid for all values of its symbols, and every index is in range.
Case generateCase(uint64_t seed, mlir::MLIRContext &context);

} // namespace ptc::test
