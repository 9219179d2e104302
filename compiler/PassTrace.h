//===- PassTrace.h - what is seen of the passes while they run -------------===//
#pragma once

#include "compiler/Options.h"

namespace mlir {
class PassManager;
}

namespace ptc {

/// Crash reports name the running pass; `options.dumpDir` gets the IR after
/// every pass, numbered over all calls with the same `count`;
/// `options.verbose` prints each pass's time.
void tracePasses(mlir::PassManager &manager, const Options &options, int &count);

/// Prints `what: 12.3 ms` on stderr when it goes out of scope; for --verbose.
class ScopedTimer {
public:
  ScopedTimer(llvm::StringRef what, bool enabled);
  ~ScopedTimer();

private:
  llvm::StringRef what;
  bool enabled;
  double start = 0;
};

} // namespace ptc
