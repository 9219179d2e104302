//===- Execute.h - runs a planned frame's launches ------------------------===//
#pragma once

#include "runtime/External.h"

namespace ptc::runtime {

/// Runs all launches, then the copies, on up to `threads` threads within one parallel region, or in several around
/// controls. The frame is planned, reserved for so many threads, and all its addresses are set. `functions`: one for
/// each of the program's externals.
ptc_status execute(Frame &frame, int32_t threads, const Function *functions, Profile &profile, Error &error);

} // namespace ptc::runtime
