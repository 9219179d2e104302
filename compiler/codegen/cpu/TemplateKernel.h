//===- TemplateKernel.h - kernels of products, convolution, attention -----===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/tile/CpuFrame.h"

#include <functional>

namespace ptc::cpu {

/// A template that knows how it will run.
struct TemplateKernel {
  mlir::AffineExpr tasks;
  mlir::AffineExpr scratchBytes;
  std::function<void(CpuFrame &)> emit;
  Algorithm algorithm;
};

/// Plans a loop template (loop::isTemplate). Fails, naming the operand, where it
/// is not of a form that the kernels can read.
llvm::Expected<TemplateKernel> planTemplate(mlir::Operation *op, const Target &target);

} // namespace ptc::cpu
