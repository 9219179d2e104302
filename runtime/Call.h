//===- Call.h - one call of the model -------------------------------------===//
#pragma once

#include "runtime/Context.h"

namespace ptc::runtime {

/// Inputs as the caller gave them: where one is left out there is none, or null.
struct InputList {
  const DLTensor *const *tensors;
  int32_t count;
};

/// Runs the model into the caller's tensors, or, where `created` is given, into new ones.
ptc_status call(ptc_context &context, InputList inputs, DLTensor *const *outputs, int32_t outputCount, Error &error);
ptc_status callNew(ptc_context &context, InputList inputs, DLManagedTensor **outputs, int32_t outputCount,
                   Error &error);

ptc_status outputShape(ptc_context &context, InputList inputs, int32_t output, int64_t *shape, int32_t ndim,
                       Error &error);

ptc_status getState(ptc_context &context, int32_t state, DLTensor *value, Error &error);
ptc_status setState(ptc_context &context, int32_t state, const DLTensor *value, Error &error);
/// Nothing for a model that draws no random numbers.
ptc_status setSeed(ptc_context &context, uint64_t seed, Error &error);

} // namespace ptc::runtime
