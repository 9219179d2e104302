//===- Fuse.h - loops become kernels --------------------------------------===//
//
// Before: a loop operation for each prim.
// After:  views have vanished into index maps, maps are epilogues of what they
//         read or parts of their readers, and every operation is in exactly one
//         loop.kernel (see Inline.h, Epilogues.h, SplitReductions.h, Groups.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/schedule/Limits.h"

#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {

/// Pipeline name: fuse. `isPlain`: views vanish, and every other operation is a kernel of its own.
std::unique_ptr<mlir::Pass> createFusePass(const schedule::Limits &limits, bool isPlain = false);

} // namespace ptc
