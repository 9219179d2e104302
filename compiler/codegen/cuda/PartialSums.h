//===- PartialSums.h - sums over parts of the depth -----------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Product.h"

#include <memory>

namespace ptc::cuda {

/// Where a part's sums of a batch lie in the workspace: (part, batch..., m, n), row-major.
llvm::Value *placePartialSums(GpuFrame &frame, const Product &product, llvm::Value *part,
                              llvm::ArrayRef<llvm::Value *> batch);

/// A result's sum over a part of the depth: it goes to its place in the workspace, or with one part to the epilogue.
void finishSum(GpuFrame &frame, const Product &product, unsigned parts, llvm::Value *part,
               llvm::ArrayRef<llvm::Value *> batch, llvm::Value *row, llvm::Value *column, llvm::Value *sum);

/// Adds the workspace, and a grid that adds the parts up in order and runs the epilogue.
void addPartialSums(KernelPlan &plan, std::shared_ptr<const Product> product, unsigned parts, unsigned sumBytes);

} // namespace ptc::cuda
