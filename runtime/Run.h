//===- Run.h - a call whose sizes are known -------------------------------===//
#pragma once

#include "runtime/CallTensors.h"
#include "runtime/Threading.h"

namespace ptc::runtime {

/// The right to run a call. A model that calls functions of the program's has it at any time: they may wait for another
/// call. So has one on a device, which takes no processor.
class Turn {
public:
  explicit Turn(const Program &program)
      : begun(0), ended(0), pool(program.externalCount || program.device || usesOpenMP() ? nullptr : Pool::get()) {
    if (!pool || pool->turns.tryEnter())
      return;
    begun = now();
    pool->turns.enter(callsAtATime());
    ended = now();
  }
  ~Turn() {
    if (pool)
      pool->turns.leave();
  }
  Turn(const Turn &) = delete;

  int64_t begun, ended; ///< the wait for it; 0: there was none

private:
  Pool *pool;
};

/// Runs the model on tensors that fit it.
ptc_status run(ptc_context &context, Frame &frame, InputList inputs, DLTensor *const *outputs, const Turn &turn,
               Error &error);

} // namespace ptc::runtime
