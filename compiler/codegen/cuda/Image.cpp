#include "compiler/codegen/cuda/Image.h"

#include "compiler/codegen/cuda/DeviceLibrary.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cuda {

/// LLVM's own pipeline: its code for GPUs wants small loops unrolled and everything in registers.
static void optimise(Module &module, TargetMachine &machine) {
  kernel::PassAnalyses analyses(machine);
  analyses.builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, analyses.modules);
}

Expected<std::string> writeImage(Module &module, TargetMachine &machine, CodeForm form) {
  kernel::verifyKernels(module);
  linkDeviceLibrary(module);
  optimise(module, machine);
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return createStringError("no CUDA code for the function '" + function.getName() + "'");
  SmallVector<char, 0> text =
      kernel::writeModule(module, machine, form == CodeForm::Llvm ? CodeForm::Llvm : CodeForm::Assembly);
  return std::string(text.begin(), text.end());
}

} // namespace ptc::cuda
