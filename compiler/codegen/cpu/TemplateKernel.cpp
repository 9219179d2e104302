#include "compiler/codegen/cpu/TemplateKernel.h"

#include "compiler/codegen/cpu/Describe.h"
#include "compiler/codegen/cpu/attention/Attention.h"
#include "compiler/codegen/cpu/attention/AttentionGradient.h"
#include "compiler/codegen/cpu/conv/Convolution.h"
#include "compiler/codegen/cpu/conv/WinogradConvolution.h"
#include "compiler/codegen/cpu/gemm/Contraction.h"
#include "compiler/codegen/cpu/tile/TwoForms.h"

namespace ptc::cpu {

static llvm::Expected<TemplateKernel> plan(loop::ContractOp op, const Target &target) {
  auto plan = planContraction(op, target);
  if (!plan)
    return plan.takeError();
  return TemplateKernel{plan->tasks, plan->scratchBytes,
                        [op, plan = *plan](CpuFrame &frame) { emitContraction(frame, op, plan); }, describe(op, *plan)};
}

static llvm::Expected<TemplateKernel> plan(loop::ConvolutionOp op, const Target &target) {
  mlir::Type x = op.getX().getType().getElementType(), w = op.getW().getType().getElementType();
  if (x != w && !x.isUnsignedInteger(8))
    return llvm::createStringError("a convolution of floats by a weight of bytes");
  auto constant = [&](int64_t value) { return mlir::getAffineConstantExpr(value, op.getContext()); };
  if (op.getWinograd() > 0) {
    WinogradPlan plan = planWinograd(op, target);
    if (!plan.leastTiles)
      return TemplateKernel{plan.tasks(), constant(plan.scratchBytes()),
                            [op, plan](CpuFrame &frame) { emitWinograd(frame, op, plan); }, describeWinograd(op)};
    ConvolutionPlan directly = planConvolution(op, target);
    return TemplateKernel{directly.tasks, constant(std::max(plan.scratchBytes(), directly.scratchBytes())),
                          [op, plan, directly](CpuFrame &frame) {
                            emitTwoForms(
                                frame, {plan.tiles, plan.leastTiles, plan.tasks(), directly.tasks},
                                [&] { emitWinograd(frame, op, plan); },
                                [&] { emitConvolution(frame, op, directly, std::nullopt); });
                          },
                          describeWinograd(op)};
  }
  ConvolutionPlan plan = planConvolution(op, target);
  std::string because;
  auto split = target.hasMatrixUnit() ? planSplit(plan, op, because) : std::nullopt;
  auto onUnit = split ? std::optional(split->numbers) : std::nullopt;
  if (split && split->leastPixels)
    return TemplateKernel{plan.tasks, constant(split->scratchBytes()),
                          [op, plan, split](CpuFrame &frame) {
                            emitTwoForms(
                                frame, {split->pixelsOfFrame, split->leastPixels, split->tasks, plan.tasks},
                                [&] { emitConvolution(frame, op, plan, split); },
                                [&] { emitConvolution(frame, op, plan, std::nullopt); });
                          },
                          describe(op, plan, onUnit, because)};
  return TemplateKernel{split ? split->tasks : plan.tasks,
                        constant(split ? split->scratchBytes() : plan.scratchBytes()),
                        [op, plan, split](CpuFrame &frame) {
                          plan.isGrouped ? emitGroupedConvolution(frame, op, plan)
                          : plan.isDot   ? emitDotConvolution(frame, op, plan)
                                         : emitConvolution(frame, op, plan, split);
                        },
                        describe(op, plan, onUnit, because)};
}

static llvm::Expected<TemplateKernel> plan(loop::AttentionOp op, const Target &target) {
  auto plan = planAttention(op, target);
  if (!plan)
    return plan.takeError();
  return TemplateKernel{plan->tasks, mlir::getAffineConstantExpr(plan->scratchSize, op.getContext()),
                        [op, plan = *plan](CpuFrame &frame) { emitAttention(frame, op, plan); }, describe(op, *plan)};
}

static llvm::Expected<TemplateKernel> plan(loop::AttentionGradientOp op, const Target &target) {
  auto plan = planAttentionGradient(op, target);
  if (!plan)
    return plan.takeError();
  return TemplateKernel{plan->tasks, mlir::getAffineConstantExpr(plan->scratchSize, op.getContext()),
                        [op, plan = *plan](CpuFrame &frame) { emitAttentionGradient(frame, op, plan); },
                        describe(op, *plan)};
}

llvm::Expected<TemplateKernel> planTemplate(mlir::Operation *op, const Target &target) {
  if (auto contract = llvm::dyn_cast<loop::ContractOp>(op))
    return plan(contract, target);
  if (auto convolution = llvm::dyn_cast<loop::ConvolutionOp>(op))
    return plan(convolution, target);
  if (auto gradient = llvm::dyn_cast<loop::AttentionGradientOp>(op))
    return plan(gradient, target);
  return plan(llvm::cast<loop::AttentionOp>(op), target);
}

} // namespace ptc::cpu
