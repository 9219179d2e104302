#include "compiler/codegen/cpu/Object.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace ptc::cpu {

void setUpModule(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

/// The code is emitted as loops over vectors already: what is left to do is to find what repeats and what does not
/// change in a loop.
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

  FunctionPassManager passes;
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(DCEPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

/// Before it returns, a function clears the upper halves of vector registers, even one that promised to keep all
/// registers: LLVM does not see the contradiction.
static void keepUpperHalves(Module &module, TargetMachine &machine) {
  std::string features = (machine.getTargetFeatureString() + ",-vzeroupper").str();
  for (Function &function : module)
    if (function.getCallingConv() == CallingConv::PreserveAll)
      function.addFnAttr("target-features", features);
}

SmallVector<char, 0> writeModule(Module &module, TargetMachine &machine, CodeForm form) {
  std::string broken;
  raw_string_ostream complaints(broken);
  if (verifyModule(module, &complaints))
    report_fatal_error(Twine("kernels are broken LLVM IR: ") + broken);
  keepUpperHalves(module, machine);
  optimise(module, machine);
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (form == CodeForm::Llvm) {
    module.print(out, nullptr);
    return bytes;
  }
  legacy::PassManager passes;
  auto type = form == CodeForm::Assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
    report_fatal_error("the target cannot write objects");
  passes.run(module);
  return bytes;
}

} // namespace ptc::cpu
