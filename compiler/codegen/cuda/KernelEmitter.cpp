#include "compiler/codegen/cuda/KernelEmitter.h"

#include "compiler/codegen/cuda/Attention.h"
#include "compiler/codegen/cuda/Nest.h"
#include "compiler/codegen/cuda/Templates.h"
#include "compiler/codegen/kernel/KernelFunction.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cuda {

static Expected<KernelPlan> planTemplate(loop::KernelOp kernel, mlir::Operation *op) {
  KernelPlan plan{countTemplateBlocks(op), kTemplateThreads, {}, {}, {}};
  if (auto contract = dyn_cast<loop::ContractOp>(op)) {
    plan.emit = [contract](GpuFrame &frame) { emitContraction(frame, contract); };
    plan.algorithm = {"product, a thread a result", "tensor cores are not used yet"};
    return plan;
  }
  if (auto convolution = dyn_cast<loop::ConvolutionOp>(op)) {
    plan.emit = [convolution](GpuFrame &frame) { emitConvolution(frame, convolution); };
    plan.algorithm = {"direct convolution, a thread a result", "tensor cores are not used yet"};
    return plan;
  }
  if (auto attention = dyn_cast<loop::AttentionOp>(op)) {
    plan.blocks = countAttentionBlocks(attention);
    plan.threads = kAttentionThreads;
    plan.workspaceBytes = getAttentionWorkspace(attention);
    plan.emit = [attention](GpuFrame &frame) { emitAttention(frame, attention); };
    plan.algorithm = {"attention, a block a query", "tensor cores are not used yet"};
    return plan;
  }
  return createStringError("kernel " + kernel.getName() + ": no CUDA code for " + op->getName().getStringRef());
}

Expected<KernelPlan> planKernel(loop::KernelOp kernel) {
  if (Error error = kernel::checkBodies(kernel, "CUDA"))
    return error;
  mlir::Operation *first = &kernel.getBody().front().front();
  if (loop::isTemplate(first))
    return planTemplate(kernel, first);
  for (mlir::Operation &member : kernel.getBody().front().without_terminator())
    if (!isa<loop::MapOp, loop::ReduceOp, loop::ScanOp>(member))
      return createStringError("kernel " + kernel.getName() + ": no CUDA code for " + member.getName().getStringRef());
  auto grid = std::make_shared<GridPlan>(planGrid(kernel));
  KernelPlan plan{grid->blocks, grid->threads, {}, [grid](GpuFrame &frame) { emitNest(frame, *grid); }, {}};
  if (!grid->locals.empty())
    plan.workspaceBytes = grid->workspaceBytes();
  plan.algorithm.name = grid->isFlat ? "a thread a point" : "a block a row";
  return plan;
}

void emitKernel(Module &module, GpuBuilder &gpu, loop::KernelOp kernel, const KernelPlan &plan, StringRef symbol) {
  mlir::Block &body = kernel.getBody().front();
  auto results = body.getTerminator()->getOperands();
  unsigned tensors = body.getNumArguments() + results.size(), symbols = getSymbols(kernel).size();
  bool hasWorkspace = bool(plan.workspaceBytes);
  unsigned pointers = tensors + hasWorkspace + 1;
  Function *function = gpu.createKernel(module, symbol, pointers, symbols, plan.threads);
  Ir b(BasicBlock::Create(module.getContext(), "entry", function));
  GpuFrame frame(b, gpu);
  frame.threads = plan.threads;
  unsigned slot = 0;
  for (mlir::Value argument : body.getArguments())
    frame.pointers[argument] = function->getArg(slot++);
  for (mlir::Value result : results)
    frame.pointers[result] = function->getArg(slot++);
  if (hasWorkspace)
    frame.workspace = function->getArg(slot++);
  frame.fault = function->getArg(slot++);
  for (unsigned i = 0; i < symbols; ++i)
    frame.symbols.push_back(function->getArg(slot++));
  kernel::numberFaults(frame, kernel);
  kernel::setAlias(frame, kernel);
  kernel::endWhereNothingIsIndexed(frame, kernel);
  plan.emit(frame);
  b.CreateRetVoid();
}

} // namespace ptc::cuda
