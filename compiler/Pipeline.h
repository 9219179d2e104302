//===- Pipeline.h - the passes of the compiler, in order -------------------===//
//
// START HERE: Pipeline.cpp is the table of contents of the compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Options.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class DialectRegistry;
class ModuleOp;
} // namespace mlir

namespace ptc {

class Times;
class WeightStore;
namespace cpu {
struct Target;
}

/// Every dialect that a model passes through.
void registerDialects(mlir::DialectRegistry &registry);

/// Every pass of the pipeline under its own name, for ptc-opt.
void registerPasses();

/// Takes a module, of whatever stage it is, to the end of stage `to` (Loop at
/// most); between the stages it verifies that only what may be there is there.
/// Why it failed is in the context's diagnostics. With options.saveTemps the IR
/// at the end of each stage before options.emit is kept.
llvm::LogicalResult lower(mlir::ModuleOp module, WeightStore &weights, Stage to, const cpu::Target &target,
                          const Options &options, Times &times);
/// Where nobody asks for times.
llvm::LogicalResult lower(mlir::ModuleOp module, WeightStore &weights, Stage to, const cpu::Target &target,
                          const Options &options);

/// As text with locations, so that IR that is fed back in still knows the user's lines.
llvm::Error writeIr(mlir::ModuleOp module, llvm::StringRef path);

} // namespace ptc
