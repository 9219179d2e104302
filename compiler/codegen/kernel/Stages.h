//===- Stages.h - members of a kernel that run as one loop ----------------===//
#pragma once

#include "compiler/codegen/kernel/Accesses.h"
#include "dialects/loop/Loop.h"

#include <vector>

namespace ptc::kernel {

struct Loop {
  unsigned dim; ///< gets the index; dimensions merged into it get 0
  mlir::AffineExpr size;
  /// Where comparisons of the index change their answer, ascending: between two of them the body has no branches on it
  /// (index-set splitting). Only outer loops are cut.
  llvm::SmallVector<int64_t, 2> cuts = {};
};

/// Members that run as one loop nest.
struct Stage {
  explicit Stage(Shape domain) : domain(std::move(domain)), accesses(this->domain.size()) {}

  llvm::SmallVector<mlir::Operation *> members;
  Shape domain;
  unsigned resultRank = 0; ///< the dimensions before those reduced over
  bool isScan = false, isReduction = false;
  BodyAccesses accesses;
  llvm::SmallVector<Loop> parallel, reduction; ///< beside the outer loops; those with the lanes last
  enum { Nowhere, AlongParallel, AlongReduction } lanes = Nowhere;
  unsigned width = 1;
};

/// The members in order, neighbours of one domain that read each other at most at the current point together.
std::vector<Stage> makeStages(loop::KernelOp kernel);

/// Whether a member's result is one of the kernel's.
bool isYielded(mlir::Value tensor);

/// Results that are not the kernel's and that a later stage reads, row by row.
llvm::SmallVector<mlir::Value> localTensors(loop::KernelOp kernel, llvm::ArrayRef<Stage> stages);

unsigned scanDim(const Stage &stage);

} // namespace ptc::kernel
