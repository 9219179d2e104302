//===- Cuda.cpp - loop kernels become PTX ---------------------------------===//
//
// Each loop.kernel becomes functions, one for each of its grids. Kernels that differ only in name and locations share
// them. The texts of all are joined to a program's one module, since drivers load modules one by one.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/Describe.h"
#include "compiler/codegen/cuda/Image.h"
#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/kernel/CompileKernels.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cuda {

using kernel::Unit;

Algorithm Target::getAlgorithm(mlir::Operation *kernel) const {
  Expected<KernelPlan> plan = planKernel(cast<loop::KernelOp>(kernel), *this);
  if (plan)
    return describe(cast<loop::KernelOp>(kernel), *plan, *this);
  consumeError(plan.takeError()); // which emitKernels reports
  return {};
}

/// All functions as one module of LLVM's.
static Expected<SmallVector<char, 0>> writeTogether(ArrayRef<Unit> units, ArrayRef<KernelPlan> plans,
                                                    const Target &target, CodeForm form) {
  LLVMContext context;
  Module module("kernels", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
  kernel::setUpModule(module, *machine);
  NvvmBuilder gpu;
  for (auto [unit, plan] : zip_equal(units, plans))
    emitKernel(module, gpu, unit.kernel, plan, unit.symbol);
  return writeImage(module, *machine, target, form);
}

Expected<KernelCode> Target::emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *cache,
                                         ShowKernel show) const {
  KernelCode code;
  auto planned = kernel::planUnits<KernelPlan>(
      module, description, [&](loop::KernelOp kernel) { return planKernel(kernel, *this); },
      [&](loop::KernelOp kernel, const Unit &unit, const KernelPlan &plan) {
        KernelInfo &info = code.kernels[kernel];
        for (auto [i, grid] : enumerate(plan.grids))
          info.grids.push_back({getGridSymbol(unit.symbol, i), grid.blocks, grid.threads, grid.sharedBytes,
                                grid.isPersistent ? grid.resident : 0, grid.maps});
        info.workspaceBytes = plan.workspaceBytes;
        info.faults = kernel::findFaults(kernel);
      });
  if (!planned)
    return planned.takeError();
  const std::vector<Unit> &units = planned->units;
  const std::vector<KernelPlan> &plans = planned->plans;
  if (form == CodeForm::Llvm || units.empty()) { // joined texts of LLVM IR are not LLVM IR
    Expected<SmallVector<char, 0>> text = writeTogether(units, plans, *this, form);
    if (!text)
      return text.takeError();
    code.image = std::string(text->begin(), text->end());
    return code;
  }
  kernel::UnitCompiler compiler = {
      [&] { return createTargetMachine(*this); },
      [&](Module &module, size_t i) {
        NvvmBuilder gpu;
        emitKernel(module, gpu, units[i].kernel, plans[i], units[i].symbol);
      },
      [&](Module &module, TargetMachine &machine) { return writeImage(module, machine, *this, form); }};
  if (Error failed = kernel::compileUnits(units, compiler, cache, show, code))
    return failed;
  code.image = joinImages(code.files);
  code.files.clear();
  return code;
}

} // namespace ptc::cuda
