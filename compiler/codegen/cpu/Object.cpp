#include "compiler/codegen/cpu/Object.h"

#include "compiler/codegen/cpu/MaskedLoads.h"
#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/DCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace ptc::cpu {

/// The code is emitted as loops over vectors already: what is left to do is to find what repeats and what does not
/// change in a loop.
static void optimise(Module &module, TargetMachine &machine) {
  kernel::PassAnalyses analyses(machine);
  FunctionPassManager passes;
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(InstCombinePass());
  passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(SimplifyCFGPass());
  passes.addPass(DCEPass());
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    passes.run(function, analyses.functions);
    auto &costs = analyses.functions.getResult<TargetIRAnalysis>(function);
    splitMaskedLoads(function, costs.getRegisterBitWidth(TargetTransformInfo::RGK_FixedWidthVector).getFixedValue());
  }
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
  kernel::verifyKernels(module);
  keepUpperHalves(module, machine);
  optimise(module, machine);
  return kernel::writeModule(module, machine, form);
}

} // namespace ptc::cpu
