//===- PassTrace.h - what is seen of the passes while they run -------------===//
#pragma once

#include "compiler/support/Options.h"

namespace mlir {
class PassManager;
}

namespace ptc {

class Times;

/// Crash reports name the running pass; `options.dumpDir` gets the IR after
/// every pass, numbered over all calls with the same `count`; `times` gets each
/// pass's time.
void tracePasses(mlir::PassManager &manager, const Options &options, Times &times, int &count);

} // namespace ptc
