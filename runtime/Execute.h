//===- Execute.h - runs a planned frame's launches ------------------------===//
#pragma once

#include "runtime/Frame.h"

namespace ptc::runtime {

/// Runs all launches, then the copies, on up to `threads` threads within one parallel region. The frame is planned,
/// reserved for so many threads, and all its addresses are set.
ptc_status execute(Frame &frame, int32_t threads, Profile &profile, Error &error);

} // namespace ptc::runtime
