//===- Faults.h - what kernels may find wrong in data -----------------------===//
#pragma once

#include "dialects/loop/Loop.h"

namespace ptc::loop {

/// Whether a value of data may be found out of range. One that is marked `in_range` is in it, by how it came about or
/// because another check has seen it before.
bool mayFault(CheckedIndexOp op);
bool mayFault(KernelOp kernel);

} // namespace ptc::loop
