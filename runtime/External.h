//===- External.h - calls of functions that the model's caller registers ---===//
#pragma once

#include "runtime/Frame.h"

namespace ptc::runtime {

/// What a context has for one place that calls a function of the caller's; null until it is registered.
struct Function {
  ptc_function function;
  void *data;
};

/// An error that names the first place without a function.
ptc_status checkFunctions(const Program &program, const Function *functions, Error &error);

/// Calls the function for external `index` on the buffers of the frame, whose addresses and sizes are set. On the
/// calling thread, while no other works for this call.
ptc_status callFunction(Frame &frame, int32_t index, const Function &function, Error &error);

} // namespace ptc::runtime
