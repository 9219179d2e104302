//===- Pipeline.h - the passes of the compiler, in order -------------------===//
//
// START HERE: Pipeline.cpp is the table of contents of the compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"

#include <memory>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace ptc {

class Times;
class WeightStore;

/// Every dialect that a model passes through.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass of the pipeline under its own name, for ptc-opt.
void registerPasses();

/// Takes a module, of whatever stage it is, to the end of stage `to` (Loop at
/// most); between the stages it verifies that only what may be there is there.
/// Why it failed is in the context's diagnostics. With options.saveTemps the IR
/// at the end of each stage before options.emit is kept.
llvm::LogicalResult lower(mlir::ModuleOp module, WeightStore &weights, Stage to, const cpu::Target &target,
                          const Options &options);

/// A module at the end of stage Loop, for one target.
struct Variant {
  cpu::Target target;
  mlir::ModuleOp module;                                    ///< targets that read weights alike share it
  std::unique_ptr<mlir::OwningOpRef<mlir::ModuleOp>> owned; ///< null: somebody else's
};

/// Sets the attributes of kernels that somebody has measured for the target (loop::setTuning); a copy of the module is
/// taken to the end of stage Loop by `lowerCopy`.
using Tune =
    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp module, const cpu::Target &target,
                                           llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp copy)> lowerCopy)>;

/// The same for several targets at once, where `to` is Loop; only what depends on the target is done for each. With one
/// target its variant is `module` itself, else there are copies. `tune` is called before what is done for a target
/// (null: rules decide).
llvm::LogicalResult lowerForTargets(mlir::ModuleOp module, WeightStore &weights, Stage to,
                                    llvm::ArrayRef<cpu::Target> targets, const Options &options, Times &times,
                                    Tune tune, std::vector<Variant> &variants);

/// As text with locations, so that IR that is fed back in still knows the user's lines.
llvm::Error writeIr(mlir::ModuleOp module, llvm::StringRef path);

} // namespace ptc
