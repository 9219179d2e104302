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

/// body(tensor, offset, bytes) for the external's tensors that are needed, as they lie one behind another in one block;
/// answers the block's size.
template <class F> int64_t forEachTensor(const Frame &frame, const ExternalEntry &entry, F body) {
  int64_t offset = 0;
  for (int32_t i = 0; i < entry.tensorCount(); ++i)
    if (entry.tensors[i].rank >= 0) {
      int64_t bytes = frame.values[frame.program->buffers[entry.buffers[i]].bytes];
      body(i, offset, bytes);
      offset += roundToAlignment(bytes);
    }
  return offset;
}

/// Calls the function for external `index` on the buffers of the frame, whose addresses and sizes are set. On the
/// calling thread, while no other works for this call. `copies`: a block on the host with the tensors in place of the
/// buffers, where these are a device's; else null.
ptc_status callFunction(Frame &frame, int32_t index, const Function &function, char *copies, Error &error);

} // namespace ptc::runtime
