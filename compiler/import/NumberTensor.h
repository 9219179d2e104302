//===- NumberTensor.h - numbers that only tensors can hold --------------------===//
#pragma once

#include "compiler/import/SymbolTable.h"

#include "mlir/IR/Builders.h"

namespace ptc::import {

/// A float that depends on sizes, as a tensor without dimensions: x / n**0.5.
/// Sizes themselves are integers and never need this.
llvm::Expected<mlir::Value> buildNumberTensor(const Expression &number, SymbolTable &symbols, mlir::OpBuilder &builder,
                                              mlir::Location loc);

} // namespace ptc::import
