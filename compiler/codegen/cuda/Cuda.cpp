//===- Cuda.cpp - loop kernels become PTX ---------------------------------===//
//
// Each loop.kernel becomes functions, one for each of its grids, of a program's one module, since drivers load modules
// one by one. Kernels that differ only in name and locations share them.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/Image.h"
#include "compiler/codegen/cuda/KernelEmitter.h"
#include "compiler/codegen/kernel/KernelFunction.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cuda {

Algorithm Target::getAlgorithm(mlir::Operation *kernel) const {
  Expected<KernelPlan> plan = planKernel(cast<loop::KernelOp>(kernel));
  if (plan)
    return plan->algorithm;
  consumeError(plan.takeError()); // which emitKernels reports
  return {};
}

Expected<KernelCode> Target::emitKernels(mlir::ModuleOp module, CodeForm form, const Cache *, ShowKernel show) const {
  KernelCode code;
  LLVMContext context;
  Module kernels("kernels", context);
  std::unique_ptr<TargetMachine> machine = createTargetMachine(*this);
  kernel::setUpModule(kernels, *machine);
  NvvmBuilder gpu;
  StringMap<std::string> known;
  Error error = Error::success();
  module->walk([&](loop::KernelOp kernel) {
    Expected<KernelPlan> plan = planKernel(kernel);
    if (!plan) {
      error = joinErrors(std::move(error), plan.takeError());
      return mlir::WalkResult::interrupt();
    }
    std::string &symbol = known[loop::getContent(kernel)];
    if (symbol.empty()) {
      symbol = ("ptc_kernel_" + loop::getPlainName(kernel) + "_" + Twine(known.size())).str();
      emitKernel(kernels, gpu, kernel, *plan, symbol);
      if (show)
        show(symbol, known.size(), 0);
    }
    KernelInfo &info = code.kernels[kernel];
    for (auto [i, grid] : enumerate(plan->grids))
      info.grids.push_back({getGridSymbol(symbol, i), grid.blocks, grid.threads, 0});
    info.workspaceBytes = plan->workspaceBytes;
    info.faults = kernel::faultTexts(kernel);
    return mlir::WalkResult::skip();
  });
  if (error)
    return error;
  Expected<std::string> image = writeImage(kernels, *machine, form);
  if (!image)
    return image.takeError();
  code.image = std::move(*image);
  return code;
}

} // namespace ptc::cuda
