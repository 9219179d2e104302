#include "compiler/codegen/cuda/Image.h"

#include "compiler/codegen/cuda/DeviceLibrary.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::cuda {

void setUpModule(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

/// LLVM's own pipeline: its code for GPUs wants small loops unrolled and everything in registers.
static void optimise(Module &module, TargetMachine &machine) {
  PassBuilder builder(&machine);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

Expected<std::string> writeImage(Module &module, TargetMachine &machine, CodeForm form) {
  std::string broken;
  raw_string_ostream complaints(broken);
  if (verifyModule(module, &complaints))
    report_fatal_error(Twine("kernels are broken LLVM IR: ") + broken);
  linkDeviceLibrary(module);
  optimise(module, machine);
  for (const Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return createStringError("no CUDA code for the function '" + function.getName() + "'");
  SmallString<0> text;
  raw_svector_ostream out(text);
  if (form == CodeForm::Llvm) {
    module.print(out, nullptr);
    return text.str().str();
  }
  legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, CodeGenFileType::AssemblyFile, /*DisableVerify=*/true))
    report_fatal_error("the target cannot write PTX");
  passes.run(module);
  return text.str().str();
}

} // namespace ptc::cuda
