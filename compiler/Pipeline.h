//===- Pipeline.h - the passes of the compiler, in order -------------------===//
//
// START HERE: Pipeline.cpp is the table of contents of the compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Target.h"
#include "compiler/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"

#include <memory>
#include <optional>

namespace mlir {
class DialectRegistry;
}

namespace ptc {

class Times;
class WeightStore;

/// Every dialect that a model passes through.
void registerDialects(mlir::DialectRegistry &registry);

/// What the passes are given that ptc-opt runs, each under its own name.
struct PassesEnvironment {
  WeightStore &weights;
  const Options &options;
  std::unique_ptr<const Target> target;
};

/// Every pass of the pipeline for ptc-opt. They are made with what the environment holds when they are asked for.
void registerPasses(PassesEnvironment &environment);

/// What a step of the pipeline may know.
enum class Scope { Model, Memory, Device, Target };

/// The passes of one compilation. Between the stages it is verified that only what may be there is there. Why a
/// function failed is in the context's diagnostics. With options.saveTemps the IR at the end of each stage before
/// options.emit is kept.
class Pipeline {
public:
  /// `multipliesBytes`: all targets do (Target.h).
  Pipeline(WeightStore &weights, const Options &options, bool multipliesBytes, Times &times)
      : weights(weights), options(options), multipliesBytes(multipliesBytes), times(times) {}

  /// Takes a module, of whatever stage it is, to the end of stage `to`: Prims at most.
  llvm::LogicalResult lowerModel(mlir::ModuleOp module, Stage to = Stage::Prims);
  /// What the backward pass of a step reads is saved or computed again, as the budget has it
  /// (graph/train/Rematerialise.h).
  llvm::LogicalResult rematerialise(mlir::ModuleOp module, std::optional<double> budget);
  /// From there to kernels of stage Loop, as they are for all targets of a device.
  llvm::LogicalResult lowerForDevice(mlir::ModuleOp module, Device device);
  /// From there to the end of stage Loop.
  llvm::LogicalResult lowerForTarget(mlir::ModuleOp module, const Target &target);

private:
  llvm::LogicalResult run(mlir::ModuleOp module, Stage stage, Scope scope, std::optional<Device> device,
                          const Target *target, std::optional<double> memoryBudget = std::nullopt);

  WeightStore &weights;
  const Options &options;
  bool multipliesBytes;
  Times &times;
  int dumped = 0;
};

/// As text with locations, so that IR that is fed back in still knows the user's lines.
llvm::Error writeIr(mlir::ModuleOp module, llvm::StringRef path);

} // namespace ptc
