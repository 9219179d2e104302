//===- Fault.h - what kernels find wrong in data, in words ------------------===//
#pragma once

#include "runtime/Error.h"
#include "runtime/Frame.h"

namespace ptc::runtime {

/// The error of a launch whose kernel has noted (FaultNote) an index out of range.
ptc_status setFault(const Frame &frame, int32_t launch, uint64_t noted, Error &error);

} // namespace ptc::runtime
