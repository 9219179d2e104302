//===- Cpu.cpp - loop kernels become machine code -------------------------===//
//
// Each loop.kernel becomes one function of the kernel ABI (runtime/Program.h). Kernels that differ only in name and
// locations share one function.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/KernelEmitter.h"
#include "compiler/codegen/cpu/Object.h"
#include "compiler/codegen/kernel/CompileKernels.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cpu {

using kernel::Unit;

static SmallVector<char, 0> writeText(ArrayRef<Unit> units, ArrayRef<KernelPlan> plans, const Target &target,
                                      CodeForm form) {
  LLVMContext context;
  Module module("kernels", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  kernel::setUpModule(module, *machine);
  for (auto [unit, plan] : zip_equal(units, plans))
    emitKernel(module, unit.kernel, plan, unit.symbol, target);
  return writeModule(module, *machine, form);
}

Algorithm Target::getAlgorithm(mlir::Operation *kernel) const {
  Expected<KernelPlan> plan = planKernel(cast<loop::KernelOp>(kernel), *this);
  if (plan)
    return plan->algorithm;
  consumeError(plan.takeError()); // which emitKernels reports
  return {};
}

Expected<KernelCode> Target::emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                         ShowKernel show) const {
  KernelCode code;
  auto planned = kernel::planUnits<KernelPlan>(
      module, description, [&](loop::KernelOp kernel) { return planKernel(kernel, *this); },
      [&](loop::KernelOp kernel, const Unit &unit, const KernelPlan &plan) {
        code.kernels[kernel] = {unit.symbol, plan.tasks, plan.scratchBytes, kernel::findFaults(kernel), {}, {}};
      });
  if (!planned)
    return planned.takeError();
  const std::vector<Unit> &units = planned->units;
  const std::vector<KernelPlan> &plans = planned->plans;
  if (form != CodeForm::Object) {
    code.files.push_back(writeText(units, plans, *this, form));
    return code;
  }
  kernel::UnitCompiler compiler = {
      [&] { return createTargetMachine(*this); },
      [&](Module &module, size_t i) { emitKernel(module, units[i].kernel, plans[i], units[i].symbol, *this); },
      [](Module &module, TargetMachine &machine) { return writeModule(module, machine, CodeForm::Object); }};
  if (Error failed = kernel::compileUnits(units, compiler, cache, show, code))
    return failed;
  return code;
}

} // namespace ptc::cpu
