//===- Bind.h - do these tensors fit the model? ---------------------------===//
//
// Everything a call is given is checked here, before anything is read or
// written: the symbols get their values from the inputs, then every size, type and
// guard is compared with them. A message names the tensor, the dimension, the size
// found and what was allowed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Frame.h"

namespace ptc::runtime {

/// Whether a range of the tables has no upper bound: max == -1 says so, unless min is negative (then -1 is a bound).
inline bool isOpen(int64_t min, int64_t max) { return max == INT64_MAX || (max == -1 && min >= 0); }
inline bool isWithin(int64_t value, int64_t min, int64_t max) {
  return value >= min && (value <= max || isOpen(min, max));
}

/// Takes the symbols' values from the inputs, of which there is one for each that the program has. Checks all that does
/// not need derived sizes. A symbolic-int input that is not in the host's memory is waited for, in a call that has
/// begun on the frame's device.
ptc_status bindSymbols(Frame &frame, const DLTensor *const *inputs, int64_t *symbols, Error &error);

/// Checks the guards that are known after exactly so many of the sizes that data define.
ptc_status checkGuards(const Program &program, int32_t definitions, const int64_t *symbols, const int64_t *values,
                       Error &error);

/// Checks the inputs' sizes and the guards against the values that follow from the symbols.
ptc_status checkSizes(const Program &program, const DLTensor *const *inputs, const int64_t *symbols,
                      const int64_t *values, Error &error);

/// Checks a tensor that the model, or its state, is to be written to (or a state's new value).
/// `what`: "output", "state"; `values` give the sizes.
ptc_status checkTensor(const TensorEntry &entry, const Device *device, const char *what, int32_t index,
                       const DLTensor *tensor, const int64_t *values, Error &error);

/// Checks a tensor of any type and sizes that is to be copied: its form, and that it is where it can be reached.
ptc_status checkCopied(const Device *device, const DLTensor *tensor, Error &error);

} // namespace ptc::runtime
