//===- Target.cpp ---------------------------------------------------------===//

#include "compiler/codegen/cpu/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <mutex>

using namespace llvm;

namespace ptc::cpu {

static void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

Expected<Target> getTarget(StringRef march) {
  initialize();
  Target target;
  target.triple = "x86_64-unknown-linux-gnu";
  if (march == "native") {
    target.cpu = sys::getHostCPUName().str();
    for (const auto &feature : sys::getHostCPUFeatures())
      if (feature.getValue())
        target.features.push_back(feature.getKey().str());
  } else {
    SmallVector<StringRef> features;
    if (X86::parseArchX86(march) == X86::CK_None)
      return createStringError("unknown machine '" + march + "' (native, x86-64-v3, x86-64-v4 or a CPU's name)");
    target.cpu = march.str();
    X86::getFeaturesForCPU(march, features);
    for (StringRef feature : features)
      target.features.push_back(feature.ltrim('+').str());
  }
  llvm::sort(target.features); // the host's come in the order of a hash table
  auto has = [&](StringRef feature) { return is_contained(target.features, feature); };
  if (!has("avx2") || !has("fma"))
    return createStringError("the machine '" + march + "' lacks AVX2 and FMA, which ptc's code needs");
  bool isAvx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.vectorBytes = isAvx512 ? 64 : 32;
  target.vectorRegisters = isAvx512 ? 32 : 16;
  return target;
}

std::string describe(const Target &target) {
  return formatv("{0} {1} {2} {3} {4}", target.triple, target.cpu, target.vectorBytes, target.vectorRegisters,
                 join(target.features, ","));
}

std::unique_ptr<TargetMachine> createTargetMachine(const Target &target) {
  initialize();
  std::string error;
  Triple triple(target.triple);
  const llvm::Target *found = TargetRegistry::lookupTarget(triple, error);
  assert(found && "the X86 backend is linked in");
  std::string features;
  for (StringRef feature : target.features)
    features += (features.empty() ? "+" : ",+") + feature.str();
  TargetOptions options;
  options.FunctionSections = true; // the linker folds helpers that several kernels have
  std::unique_ptr<TargetMachine> machine(found->createTargetMachine(triple, target.cpu, features, options, Reloc::PIC_,
                                                                    CodeModel::Small, CodeGenOptLevel::Default));
  return machine;
}

} // namespace ptc::cpu
