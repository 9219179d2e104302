//===- TuningSession.h - one compilation's tuning --------------------------===//
#pragma once

#include "compiler/Variants.h"
#include "compiler/support/Cache.h"
#include "compiler/tune/Tune.h"

namespace ptc {

/// Reads the tuning file, measures what Mode::MaxAutotune wants to know of each target, keeps what was found, and sets
/// the kernels' attributes.
class TuningSession {
public:
  TuningSession(const Options &options, WeightStore &weights, const Measurer &measure, Times &times)
      : options(options), weights(weights), measure(measure), times(times) {}
  ~TuningSession();
  TuningSession(const TuningSession &) = delete;

  llvm::Error open();
  /// Of a module with kernels for the target's device.
  llvm::Error run(Pipeline &pipeline, mlir::ModuleOp module, const Target &target);
  /// After that, for all targets: how many entries of the file fit no kernel, as a warning; empty where all do. They
  /// are of another model, machine or version of ptc.
  std::string warnOfMisfits() const;

private:
  const Options &options;
  WeightStore &weights;
  const Measurer &measure;
  Times &times;
  TuningFile file;
  llvm::StringSet<> found; ///< keys of entries that a kernel has
  std::string folder; ///< of candidates and of their kernels' objects; removed at the end
  std::optional<Cache> objects;
};

} // namespace ptc
