//===- TemplateKernel.cpp -------------------------------------------------===//

#include "compiler/codegen/cpu/TemplateKernel.h"

#include "compiler/codegen/cpu/Attention.h"
#include "compiler/codegen/cpu/Contraction.h"
#include "compiler/codegen/cpu/Convolution.h"
#include "compiler/codegen/cpu/WinogradConvolution.h"

#include "llvm/Support/FormatVariadic.h"

namespace ptc::cpu {

static llvm::Expected<TemplateKernel> plan(loop::ContractOp op, const Target &target) {
  auto plan = planContraction(op, target);
  if (!plan)
    return plan.takeError();
  return TemplateKernel{plan->tasks, plan->scratchBytes,
                        [op, plan = *plan](CpuFrame &frame) { emitContraction(frame, op, plan); },
                        plan->pieces ? "matrix unit, weights in pieces" : plan->split ? "matrix unit" : ""};
}

static llvm::Expected<TemplateKernel> plan(loop::ConvolutionOp op, const Target &target) {
  auto constant = [&](int64_t value) { return mlir::getAffineConstantExpr(value, op.getContext()); };
  if (op.getWinograd() > 0) {
    WinogradPlan plan = planWinograd(op, target);
    return TemplateKernel{constant(plan.tasks()), constant(plan.scratchBytes()),
                          [op, plan](CpuFrame &frame) { emitWinograd(frame, op, plan); },
                          llvm::formatv("winograd F({0}x{0}, 3x3)", op.getWinograd())};
  }
  ConvolutionPlan plan = planConvolution(op, target);
  auto split = target.hasMatrixUnit() ? planSplit(plan, op) : std::nullopt;
  return TemplateKernel{split ? constant(split->tasks) : plan.tasks, constant(split ? split->scratchBytes() : 0),
                        [op, plan, split](CpuFrame &frame) {
                          plan.isNarrow ? emitNarrowConvolution(frame, op, plan)
                          : plan.isDot     ? emitDotConvolution(frame, op, plan)
                                           : emitConvolution(frame, op, plan, split);
                        },
                        split ? "direct, matrix unit" : "direct"};
}

static llvm::Expected<TemplateKernel> plan(loop::AttentionOp op, const Target &target) {
  auto plan = planAttention(op, target);
  if (!plan)
    return plan.takeError();
  return TemplateKernel{plan->tasks, mlir::getAffineConstantExpr(plan->scratchSize, op.getContext()),
                        [op, plan = *plan](CpuFrame &frame) { emitAttention(frame, op, plan); }};
}

llvm::Expected<TemplateKernel> planTemplate(mlir::Operation *op, const Target &target) {
  if (auto contract = llvm::dyn_cast<loop::ContractOp>(op))
    return plan(contract, target);
  if (auto convolution = llvm::dyn_cast<loop::ConvolutionOp>(op))
    return plan(convolution, target);
  return plan(llvm::cast<loop::AttentionOp>(op), target);
}

} // namespace ptc::cpu
