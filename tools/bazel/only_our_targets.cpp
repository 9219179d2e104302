// Where LLVM comes from archives. lld's link-time optimisation refers to every target of LLVM and to Polly, none of
// which ptc uses: these empty definitions are found before the archives, and some 90 MiB of code generators stay out of
// ptc.
#include "llvm/Plugins/PassPlugin.h"

#define LLVM_TARGET_UNUSED(NAME)                                                                                       \
  extern "C" void LLVMInitialize##NAME##TargetInfo() {}                                                                \
  extern "C" void LLVMInitialize##NAME##Target() {}                                                                    \
  extern "C" void LLVMInitialize##NAME##TargetMC() {}                                                                  \
  extern "C" void LLVMInitialize##NAME##AsmPrinter() {}                                                                \
  extern "C" void LLVMInitialize##NAME##AsmParser() {}                                                                 \
  extern "C" void LLVMInitialize##NAME##Disassembler() {}

LLVM_TARGET_UNUSED(AArch64)
LLVM_TARGET_UNUSED(AMDGPU)
LLVM_TARGET_UNUSED(ARM)
LLVM_TARGET_UNUSED(AVR)
LLVM_TARGET_UNUSED(BPF)
LLVM_TARGET_UNUSED(Hexagon)
LLVM_TARGET_UNUSED(Lanai)
LLVM_TARGET_UNUSED(LoongArch)
LLVM_TARGET_UNUSED(Mips)
LLVM_TARGET_UNUSED(MSP430)
LLVM_TARGET_UNUSED(PowerPC)
LLVM_TARGET_UNUSED(RISCV)
LLVM_TARGET_UNUSED(Sparc)
LLVM_TARGET_UNUSED(SPIRV)
LLVM_TARGET_UNUSED(SystemZ)
LLVM_TARGET_UNUSED(VE)
LLVM_TARGET_UNUSED(WebAssembly)
LLVM_TARGET_UNUSED(XCore)
LLVM_TARGET_UNUSED(M68k)
LLVM_TARGET_UNUSED(Xtensa)

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "left out", [](llvm::PassBuilder &) {}, nullptr};
}
