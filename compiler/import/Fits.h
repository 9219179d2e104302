//===- Fits.h - what operators take for granted of their operands' sizes ---===//
#pragma once

#include "dialects/aten/AtenOp.h"

namespace ptc::import {

/// Calls `require` with the sizes that must be equal for the operator to fit its operands, null ones among them. A size
/// of 1 is broadcast; one that is no constant is not 1.
void forEachEquality(const aten::Schema &schema, llvm::ArrayRef<mlir::Value> operands,
                     llvm::function_ref<void(mlir::AffineExpr, mlir::AffineExpr)> require);

/// What must hold of symbolic sizes for the operation's result to be of its type: "Eq", "Ne" or "Le" of two of them.
void forEachAssumption(const aten::AtenOp &op,
                       llvm::function_ref<void(llvm::StringRef, mlir::AffineExpr, mlir::AffineExpr)> assume);

} // namespace ptc::import
