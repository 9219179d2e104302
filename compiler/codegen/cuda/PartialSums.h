//===- PartialSums.h - sums over parts of the depth -----------------------===//
#pragma once

#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/cuda/Product.h"

#include <memory>

namespace ptc::cuda {

/// Where a part's sums of a batch lie in the workspace: (part, batch..., m, n), row-major.
llvm::Value *placePartialSums(GpuFrame &frame, const Product &product, llvm::Value *part,
                              llvm::ArrayRef<llvm::Value *> batch);

/// Adds the workspace, and a grid that adds the parts up in order and runs the epilogue.
void addPartialSums(KernelPlan &plan, std::shared_ptr<const Product> product, unsigned parts, unsigned sumBytes);

} // namespace ptc::cuda
