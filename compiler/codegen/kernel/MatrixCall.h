//===- MatrixCall.h - calls of the algorithms on matrices -----------------===//
//
// The kernel puts the addresses of a matrix's parts into a table and calls the
// function of runtime/matrix. Results that nobody reads lie in scratch.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/kernel/KernelFrame.h"
#include "dialects/loop/Loop.h"

#include <string>

namespace ptc::kernel {

struct MatrixCall {
  /// One pointer that the algorithm takes.
  struct Part {
    mlir::Value tensor;     ///< null: in scratch
    mlir::AffineExpr count; ///< elements a matrix
  };

  std::string symbol;
  bool isDouble;
  mlir::AffineExpr batch;        ///< matrices
  mlir::AffineExpr scratchBytes; ///< of one of them
  Shape sizes;
  llvm::SmallVector<Part> parts;

  explicit MatrixCall(loop::KernelOp kernel);
  /// For reports: how many matrices of which size, a `worker` each.
  std::string describe(loop::KernelOp kernel, llvm::StringRef worker) const;

  /// What calls of one thread share.
  struct Tables {
    llvm::Value *pointers, *sizes;
  };
  Tables emitTables(KernelFrame &f, llvm::Value *scratch) const;
  void emit(KernelFrame &f, const Tables &tables, llvm::Value *matrix) const;
};

} // namespace ptc::kernel
