//===- Compile.h - a model's file => the file that the user asked for ------===//
#pragma once

#include "compiler/support/Options.h"
#include "compiler/tune/Measure.h"

#include "llvm/Support/LogicalResult.h"

namespace mlir {
class MLIRContext;
}

namespace ptc {

class Diagnostics;

/// Reads options.model and writes options.output, whole or not at all.
/// `context` needs the dialects of registerDialects; why it failed is in
/// `diagnostics`. `measure` is for Mode::MaxAutotune alone.
llvm::LogicalResult compileModel(const Options &options, mlir::MLIRContext &context, Diagnostics &diagnostics,
                                 const Measurer &measure = {});

} // namespace ptc
