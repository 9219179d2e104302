#include "compiler/codegen/cpu/KernelEmitter.h"

#include "compiler/codegen/cpu/Describe.h"
#include "compiler/codegen/cpu/TemplateKernel.h"
#include "compiler/codegen/cpu/conv/FusedConvolution.h"
#include "compiler/codegen/cpu/nest/LoopNest.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "dialects/loop/Tuning.h"

#include "llvm/IR/Module.h"

using namespace llvm;

namespace ptc::cpu {

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static Expected<KernelPlan> planByMembers(loop::KernelOp kernel, const Target &target) {
  if (Error error = kernel::checkBodies(kernel, "CPU"))
    return error;
  if (auto fused = loop::getFusedConvolution(kernel)) {
    Expected<FusedConvolutionPlan> plan = planFusedConvolution(*fused, target);
    if (!plan)
      return plan.takeError();
    auto bytes = getAffineConstantExpr(plan->scratchBytes(), kernel.getContext());
    return KernelPlan{plan->convolution.tasks, bytes,
                      [fused = *fused, plan = *plan](CpuFrame &frame) { emitFusedConvolution(frame, fused, plan); },
                      describe(*fused, *plan)};
  }
  mlir::Operation *first = &kernel.getBody().front().front();
  if (loop::isTemplate(first)) {
    Expected<TemplateKernel> plan = planTemplate(first, target);
    if (!plan)
      return plan.takeError();
    return KernelPlan{plan->tasks, plan->scratchBytes, std::move(plan->emit), std::move(plan->algorithm)};
  }
  if (isa<loop::ScatterOp>(first))
    return planScatter(kernel, target);
  if (isa<loop::SortOp>(first))
    return planSort(kernel);
  if (isa<loop::MatrixOp>(first))
    return planMatrix(kernel);
  auto plan = std::make_shared<NestPlan>(planNest(kernel, target));
  return KernelPlan{plan->tasks, plan->scratchBytes, [plan](CpuFrame &frame) { emitNest(frame, *plan); },
                    describe(kernel, *plan)};
}

Expected<KernelPlan> planKernel(loop::KernelOp kernel, const Target &target) {
  Expected<KernelPlan> plan = planByMembers(kernel, target);
  if (!plan)
    return plan;
  std::string tuning = loop::describeTuning(kernel);
  plan->algorithm.because = joinReasons({tuning.empty() ? "" : "tuning entry: " + tuning, plan->algorithm.because});
  return plan;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Function *declareKernel(Module &module, StringRef symbol, const Target &target) {
  LLVMContext &context = module.getContext();
  Type *pointer = PointerType::getUnqual(context), *i64 = Type::getInt64Ty(context);
  auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer, pointer, i64, i64}, false);
  auto *function = Function::Create(type, Function::ExternalLinkage, symbol, module);
  function->setAlignment(Align(kCodeAlignment));
  function->setVisibility(GlobalValue::HiddenVisibility);
  function->setDoesNotThrow();
  for (unsigned i = 0; i < 3; ++i)
    function->addParamAttr(i, Attribute::NoAlias);
  // Whole registers, also where the tuning of a CPU would rather not.
  std::string bits = std::to_string(target.vectorBytes * 8);
  function->addFnAttr("min-legal-vector-width", bits);
  function->addFnAttr("prefer-vector-width", bits);
  return function;
}

void emitKernel(Module &module, loop::KernelOp kernel, const KernelPlan &plan, StringRef symbol, const Target &target) {
  Function *function = declareKernel(module, symbol, target);
  Ir b(BasicBlock::Create(module.getContext(), "entry", function));
  Type *pointer = b.getPtrTy(), *i64 = b.getInt64Ty();
  MDNode *empty = MDNode::get(b.getContext(), {});
  auto loadField = [&](Type *type, Value *base, unsigned index) {
    LoadInst *load = b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(type, base, index));
    load->setMetadata(LLVMContext::MD_invariant_load, empty);
    return load;
  };
  Value *worker = function->getArg(2);
  CpuFrame frame(b);
  frame.scratch = loadField(pointer, worker, 0);
  frame.fault = loadField(pointer, worker, 1);
  frame.kept = b.CreateConstInBoundsGEP1_64(i64, worker, 2);
  frame.begin = function->getArg(3);
  frame.end = function->getArg(4);
  mlir::Block &body = kernel.getBody().front();
  unsigned slot = 0;
  for (mlir::Value argument : body.getArguments())
    frame.pointers[argument] = loadField(pointer, function->getArg(0), slot++);
  for (mlir::Value result : body.getTerminator()->getOperands())
    frame.pointers[result] = loadField(pointer, function->getArg(0), slot++);
  for (unsigned i = 0, count = getSymbols(kernel).size(); i < count; ++i)
    frame.symbols.push_back(loadField(i64, function->getArg(1), i));
  kernel::numberFaults(frame, kernel);
  kernel::setAlias(frame, kernel);
  kernel::endWhereNothingIsIndexed(frame, kernel);
  plan.emit(frame);
  b.CreateRetVoid();
}

} // namespace ptc::cpu
