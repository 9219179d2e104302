//===- Placement.h - the device, the stream and the memory of a context's calls ---===//
#pragma once

#include "runtime/Context.h"

namespace ptc::runtime {

/// PTC_UNSUPPORTED for a stream of the caller's where the model runs on the CPU.
ptc_status setStream(ptc_context &context, void *stream, bool isCallers, Error &error);

/// Waits for all work of the context's calls, and answers what of it has failed that no call has told.
ptc_status synchronize(ptc_context &context, Error &error);

/// Null: where the first input on a device is.
ptc_status setOutputDevice(ptc_context &context, const DLDevice *device, Error &error);

/// A row-major copy on the context's device, with a deleter.
ptc_status toDevice(ptc_context &context, const DLTensor *tensor, DLManagedTensor **copy, Error &error);

} // namespace ptc::runtime
