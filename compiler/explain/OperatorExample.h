//===- OperatorExample.h - a program that calls one operator ---------------===//
#pragma once

#include "compiler/import/DType.h"
#include "dialects/aten/Schema.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace ptc {

/// Arguments that fit an operator: square, small tensors of these ranks, one for each that it must be given.
struct ExampleArguments {
  llvm::SmallVector<unsigned> ranks;
};

/// The first arguments for which the operator's row computes something from float32 tensors (or, where it takes no
/// such, integers); nullopt when none was found.
std::optional<ExampleArguments> findExampleArguments(const aten::Schema &schema, mlir::MLIRContext *context);

/// `func @forward` that calls the operator with tensors of `dtype`. Null when its row refuses them.
mlir::OwningOpRef<mlir::ModuleOp> makeExample(const aten::Schema &schema, const ExampleArguments &arguments,
                                              import::DType dtype, mlir::MLIRContext *context);

} // namespace ptc
