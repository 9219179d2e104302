#include "dialects/loop/Faults.h"

using namespace mlir;

namespace ptc::loop {

bool mayFault(CheckedIndexOp op) { return !op->hasAttr("in_range"); }

bool mayFault(KernelOp kernel) {
  auto walked =
      kernel->walk([](CheckedIndexOp op) { return mayFault(op) ? WalkResult::interrupt() : WalkResult::advance(); });
  return walked.wasInterrupted();
}

} // namespace ptc::loop
