//===- Threads.h - work that every core takes part in ----------------------===//
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace ptc {

/// Calls `run`, which takes tasks until there are none, on a thread for each core but no more than `most`; once at
/// least, as the caller's thread is among them. Returns when all have.
void runOnThreads(size_t most, llvm::function_ref<void()> run);

} // namespace ptc
