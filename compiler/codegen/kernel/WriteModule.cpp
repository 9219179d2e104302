#include "compiler/codegen/kernel/WriteModule.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace ptc::kernel {

void setUpModule(Module &module, TargetMachine &machine) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
}

void verifyKernels(const Module &module) {
  std::string broken;
  raw_string_ostream complaints(broken);
  if (verifyModule(module, &complaints))
    report_fatal_error(Twine("kernels are broken LLVM IR: ") + broken);
}

PassAnalyses::PassAnalyses(TargetMachine &machine) : builder(&machine) {
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
}

SmallVector<char, 0> writeModule(Module &module, TargetMachine &machine, CodeForm form) {
  SmallVector<char, 0> bytes;
  raw_svector_ostream out(bytes);
  if (form == CodeForm::Llvm) {
    module.print(out, nullptr);
    return bytes;
  }
  legacy::PassManager passes;
  auto type = form == CodeForm::Assembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, out, nullptr, type, /*DisableVerify=*/true))
    report_fatal_error("the target cannot write code of this form");
  passes.run(module);
  return bytes;
}

} // namespace ptc::kernel
