//===- Evaluate.h - runs a program of prims as its specification ----------===//
#pragma once

#include "dialects/prims/reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ptc::prims {

struct EvaluateOptions {
  /// Round the result of every prim to its element type, instead of carrying
  /// float64 through the whole program.
  bool round = false;
};

/// Gives the value of a `ptc.weight` or `ptc.state` argument.
using WeightReader = llvm::function_ref<llvm::Expected<Tensor>(llvm::StringRef key, mlir::RankedTensorType type)>;

/// The symbols' values that follow from the inputs' shapes and, for symbolic
/// integers (`ptc.binds`), values. An error names the input that does not fit.
llvm::Expected<std::vector<int64_t>> bindSymbols(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs);

/// The text of a condition of the function's that sizes with these values break, as far as no data are needed to tell;
/// empty: there is none.
std::string findBrokenGuard(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> symbols);

/// Every result of the function, for the `ptc.input` arguments in order.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> inputs,
                                             WeightReader readWeight, llvm::ArrayRef<int64_t> symbols,
                                             EvaluateOptions options = {});

/// The results of one prim.
llvm::Expected<std::vector<Tensor>> evaluate(mlir::Operation *prim, llvm::ArrayRef<const Tensor *> operands,
                                             llvm::ArrayRef<int64_t> symbols = {});

/// One element of an elementwise prim's (or full's) result, from 0-d operands;
/// rounded to its type.
llvm::Expected<Tensor> evaluateElement(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands);

} // namespace ptc::prims
