//===- Trainable.h - which weights a step of training changes ---------------===//
//
// Importers mark them, where training is asked for, by the argument attribute
// ptc.trainable: by what an export says of each parameter, or by what ONNX's
// initializers are read as. A text of MLIR brings its own marks.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace ptc::import {

/// Whether elements of this type can follow a gradient. Eight-bit floats are for storage.
bool isTrainable(mlir::Type element);

/// Takes the marks off the weights of @forward whose names match one of these regular expressions, and marks inputs
/// that do as `ptc.frozen`. An expression that matches no name is an error, and so is a marked weight that the model
/// itself writes to.
llvm::Error settleTrainables(mlir::ModuleOp module, llvm::ArrayRef<std::string> frozen);

} // namespace ptc::import
