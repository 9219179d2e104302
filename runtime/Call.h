//===- Call.h - one call of an entry of the model ---------------------------===//
#pragma once

#include "runtime/CallTensors.h"

namespace ptc::runtime {

/// Runs the entry into the caller's tensors, or into new ones.
ptc_status call(ptc_context &context, const Program &entry, InputList inputs, DLTensor *const *outputs,
                int32_t outputCount, Error &error);
ptc_status callNew(ptc_context &context, const Program &entry, InputList inputs, DLManagedTensor **outputs,
                   int32_t outputCount, Error &error);

ptc_status outputShape(ptc_context &context, const Program &entry, InputList inputs, int32_t output, int64_t *shape,
                       int32_t ndim, Error &error);

} // namespace ptc::runtime
