//===- CheckMlir.h - what a text of MLIR must keep to ----------------------===//
//
// MLIR's parser and the dialects' verifiers check what operations look like.
// Here is what they leave open and the compiler relies on.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace ptc::import {

/// Before parsing: nesting and result numbers are such that the parser's stack and memory stay bounded by the text.
/// The error begins with LINE:COLUMN.
llvm::Error checkMlirText(llvm::StringRef text);

/// After parsing: one function @forward with a body; tensors of numbers whose sizes are expressions over the module's
/// symbols; `ptc.` attributes of the kinds that docs/file-formats.md lists.
llvm::Error checkMlirModule(mlir::ModuleOp module);

} // namespace ptc::import
