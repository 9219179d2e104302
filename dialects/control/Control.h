//===- Control.h - what runs when the data say so --------------------------===//
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/control/ControlDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/control/Control.h.inc"

namespace ptc::control {

/// The function that a control operation names.
mlir::func::FuncOp getFunction(mlir::Operation *op, mlir::FlatSymbolRefAttr name);

/// Those that the operation calls: none, unless it is `if` or `while`.
llvm::SmallVector<mlir::func::FuncOp> getFunctions(mlir::Operation *op);

/// The arguments of such a function that stand for the operation's inputs.
llvm::SmallVector<mlir::BlockArgument> getInputArguments(mlir::func::FuncOp function);

} // namespace ptc::control
