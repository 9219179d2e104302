//===- Autocast.h - mixed precision as torch.autocast does it --------------===//
//
// Before: a model in float32.
// After:  its products take bfloat16 or float16, what is delicate stays in or
//         returns to float32, everything else computes in what it is given, as
//         under torch.autocast("cpu", torch.bfloat16) or of "cuda". Arguments
//         and results of the functions keep their types.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/Options.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: autocast. Works on functional aten. `amp`: None is bf16, for ptc-opt.
std::unique_ptr<mlir::Pass> createAutocastPass(Device device, Amp amp);

} // namespace ptc
