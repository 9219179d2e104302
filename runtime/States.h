//===- States.h - what a model keeps between calls, read and set ----------===//
#pragma once

#include "runtime/Context.h"

namespace ptc::runtime {

ptc_status getState(ptc_context &context, int32_t state, DLTensor *value, Error &error);
ptc_status setState(ptc_context &context, int32_t state, const DLTensor *value, Error &error);
/// By name; -1: there is none.
int32_t findState(const Program &program, const char *name);
/// Whether there is a state of that number.
ptc_status checkNumber(const ptc_context &context, int32_t state, Error &error);
/// Nothing for a model that draws no random numbers.
ptc_status setSeed(ptc_context &context, uint64_t seed, Error &error);

} // namespace ptc::runtime
