//===- CallTensors.h - where the tensors of a call lie --------------------===//
//
// A tensor is used where it is, or by way of a packed copy.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/Context.h"

namespace ptc::runtime {

/// Inputs as the caller gave them: where one is left out there is none, or null.
struct InputList {
  const DLTensor *const *tensors;
  int32_t count;
};

/// Refuses what would make results depend on the order in which memory is written.
ptc_status checkSharing(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error);

/// Makes packed copies of the inputs that need them, and room for such outputs; on a device only the room.
ptc_status stage(Frame &frame, InputList inputs, DLTensor *const *outputs, Error &error);

/// Sets the addresses of all buffers, and from them the launches' arguments.
void resolveAddresses(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs);

/// Sizes that the data decided: outputs are as large as planned at most, and now have the sizes that they are of.
void shrinkOutputs(const Frame &frame, DLTensor *const *outputs);

/// Tensors that were worked on as packed copies get their contents back.
void unstage(Frame &frame);

} // namespace ptc::runtime
