//===- Call.h - one call of the model -------------------------------------===//
#pragma once

#include "runtime/CallTensors.h"

namespace ptc::runtime {

/// Runs the model into the caller's tensors, or, where `created` is given, into new ones.
ptc_status call(ptc_context &context, InputList inputs, DLTensor *const *outputs, int32_t outputCount, Error &error);
ptc_status callNew(ptc_context &context, InputList inputs, DLManagedTensor **outputs, int32_t outputCount,
                   Error &error);

ptc_status outputShape(ptc_context &context, InputList inputs, int32_t output, int64_t *shape, int32_t ndim,
                       Error &error);

} // namespace ptc::runtime
