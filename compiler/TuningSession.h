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

private:
  const Options &options;
  WeightStore &weights;
  const Measurer &measure;
  Times &times;
  TuningFile file;
  std::string folder; ///< of candidates and of their kernels' objects; removed at the end
  std::optional<Cache> objects;
};

} // namespace ptc
