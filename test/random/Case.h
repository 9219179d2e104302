//===- Case.h - a program of prims with values to call it with ------------===//
#pragma once

#include "dialects/prims/reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace ptc::test {

using Tensors = std::vector<prims::Tensor>;

struct Case {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of the `ptc.weight` arguments, whose names are "0", "1", ...
  Tensors weights;
  /// Of the `ptc.input` arguments, for each call: a program of symbolic sizes is called with several.
  std::vector<Tensors> calls;

  mlir::func::FuncOp forward() const { return module.get().lookupSymbol<mlir::func::FuncOp>("forward"); }
  Case clone() const { return {mlir::ModuleOp(module.get()).clone(), weights, calls}; }
};

/// BASE.mlir, BASE.safetensors with the weights and BASE.callN.safetensors with the inputs of call N: what `ptc
/// compile` and `ptc run` read.
llvm::Error saveCase(const Case &program, const std::string &base);
/// The names of what saveCase writes.
std::vector<std::string> filesOf(const Case &program, const std::string &base);
llvm::Expected<Case> loadCase(const std::string &base, mlir::MLIRContext &context);

} // namespace ptc::test
