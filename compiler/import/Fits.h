//===- Fits.h - what operators take for granted of their operands' sizes ---===//
#pragma once

#include "dialects/aten/AtenOp.h"

namespace ptc::import {

using VisitSizes = llvm::function_ref<void(mlir::AffineExpr, mlir::AffineExpr)>;

/// Calls `require` with the sizes that must be equal for the operator to fit its operands, null ones among them, and
/// `broadcast` with those that must be equal or 1. A constant 1 is broadcast, and not among them.
void forEachEquality(const aten::Schema &schema, llvm::ArrayRef<mlir::Value> operands, VisitSizes require,
                     VisitSizes broadcast);

/// How many dimensions at the end of each operand the operator does not broadcast; nullopt where it broadcasts none.
std::optional<size_t> countKeptDims(const aten::Schema &schema);

/// What must hold of symbolic sizes for the operation's result to be of its type: "Eq", "Ne" or "Le" of two of them.
void forEachAssumption(const aten::AtenOp &op,
                       llvm::function_ref<void(llvm::StringRef, mlir::AffineExpr, mlir::AffineExpr)> assume);

} // namespace ptc::import
