//===- SourcePaths.h - how a library names the user's files ----------------===//
//
// Locations say where the model's author keeps Python files and the model: in
// error messages that is of use, in a library that is handed on it is not.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/support/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace ptc {

/// Rewrites all locations as `options.sourcePaths` says. Relative paths are those below the folder that the user's
/// files have in common, of installed packages below theirs; the model itself is called by `options.name`. A path that
/// begins with one of `options.sourcePrefixes` begins with what stands for it.
void rewriteSourcePaths(llvm::ArrayRef<mlir::ModuleOp> modules, const Options &options);

} // namespace ptc
