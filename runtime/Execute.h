//===- Execute.h - runs a planned frame's launches ------------------------===//
#pragma once

#include "runtime/Crew.h"
#include "runtime/External.h"

namespace ptc::runtime {

/// Runs all launches, then the copies, within one region of work, or in several around controls. The frame is planned,
/// reserved for the threads of the terms, and all its addresses are set. `functions`: one for each of the program's
/// externals. `recording`: null unless the call is profiled.
ptc_status execute(Frame &frame, const ThreadTerms &terms, const Function *functions, Activity &activity,
                   Recording *recording, Error &error);

} // namespace ptc::runtime
