#include "compiler/codegen/cuda/WarpgroupTurns.h"

#include "compiler/codegen/kernel/Emit.h"

using namespace llvm;

namespace ptc::cuda {

unsigned WarpgroupTurns::threads() const { return groups * kGroupWarps * kWarp; }

void WarpgroupTurns::comeTo(Value *other) { gpu.comeBy(b, barrierOf(other), threads()); }

/// As if all groups had just passed their turns to those before them.
void WarpgroupTurns::start() {
  for (unsigned first = 0; first + 1 < groups; ++first)
    kernel::emitIf(b, b.CreateICmpUGT(group, b.getInt32(first)), [&] { comeTo(b.getInt32(first)); });
}

void WarpgroupTurns::wait() {
  if (groups > 1)
    gpu.comeTogether(b, barrierOf(group), threads());
}

void WarpgroupTurns::pass() {
  for (unsigned i = 1; i < groups; ++i)
    comeTo(b.CreateURem(b.CreateAdd(group, b.getInt32(i)), b.getInt32(groups)));
}

} // namespace ptc::cuda
