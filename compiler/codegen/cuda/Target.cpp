#include "compiler/codegen/cuda/Target.h"

#include "compiler/codegen/cuda/LocalDriver.h"
#include "compiler/codegen/cuda/Ptxas.h"
#include "compiler/codegen/host/ProgramSpec.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>
#include <tuple>

using namespace llvm;

namespace ptc::cuda {

namespace {
/// An architecture that there are GPUs of and that LLVM knows. Before 8.0 there are no instructions for bfloat16.
struct Arch {
  const char *name;
  int major, minor;
};
constexpr Arch kArchs[] = {{"sm_80", 8, 0},  {"sm_86", 8, 6},   {"sm_89", 8, 9},  {"sm_90", 9, 0},
                           {"sm_90a", 9, 0}, {"sm_100", 10, 0}, {"sm_120", 12, 0}};
} // namespace

static Expected<Target> getTarget(StringRef name) {
  const Arch *arch = find_if(kArchs, [&](const Arch &one) { return name == one.name; });
  if (arch == std::end(kArchs)) {
    auto names = map_range(kArchs, [](const Arch &one) { return StringRef(one.name); });
    return createStringError("'" + name + "' is no GPU architecture that ptc compiles for; there are " +
                             join(names, ", "));
  }
  Target target;
  target.device = Device::Cuda;
  target.name = target.description = name.str();
  target.loopKey = "cuda"; // what is decided above kernels is the same for all
  target.major = arch->major;
  target.minor = arch->minor;
  target.isExact = name.ends_with("a");
  return target;
}

Expected<std::vector<Target>> getTargets(StringRef archs) {
  std::vector<Target> targets;
  for (StringRef name : split(archs, ',')) {
    Expected<Target> target = getTarget(name.trim());
    if (!target)
      return target.takeError();
    if (any_of(targets, [&](const Target &other) { return other.name == target->name; }))
      return createStringError("the GPU architecture '" + target->name + "' is named twice");
    targets.push_back(std::move(*target));
  }
  llvm::stable_sort(targets, [](const Target &a, const Target &b) {
    return std::tuple(a.major, a.minor, a.isExact) > std::tuple(b.major, b.minor, b.isExact);
  });
  return targets;
}

std::unique_ptr<TargetMachine> createTargetMachine(const Target &target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *nvptx = TargetRegistry::lookupTarget(triple, error);
  if (!nvptx)
    report_fatal_error(Twine("no code generator for NVIDIA's GPUs: ") + error);
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict; // fma where the IR says so, as on the CPU
  return std::unique_ptr<TargetMachine>(nvptx->createTargetMachine(triple, target.name, "", options, Reloc::PIC_));
}

void Target::useTf32() {
  hasTf32 = true;
  description += ", float32 as tf32";
}

Expected<std::string> Target::assemble(StringRef image) const { return runPtxas(ptxas, name, image); }

/// On the first GPU, which a library takes unless it is told otherwise.
bool Target::runsHere() const {
  Expected<LocalDriver> driver = askDriver();
  if (!driver)
    return consumeError(driver.takeError()), false;
  if (driver->gpus.empty())
    return false;
  std::pair own(major, minor), gpu(driver->gpus.front().major, driver->gpus.front().minor);
  return isExact ? gpu == own : gpu >= own;
}

void Target::require(host::ProgramSpec &spec) const {
  constexpr int32_t kDLCUDA = 2; // of DLPack
  spec.target = "cuda";
  spec.machine = name;
  spec.device = {kDLCUDA, major, minor, isExact, startsEarly(), {}, {}, {}};
}

} // namespace ptc::cuda
