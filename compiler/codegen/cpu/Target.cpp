#include "compiler/codegen/cpu/Target.h"

#include "compiler/codegen/host/ProgramSpec.h"
#include "runtime/CpuFeatures.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
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

/// What LLVM selects for no code of ours, and what every x86-64 has; nobody needs to ask for it.
static bool isHarmless(StringRef feature) {
  static const StringSet<> names = {
      "64bit",     "adx",      "aes",      "clflushopt", "cldemote", "clwb",    "clzero",    "cmov",       "crc32",
      "cx8",       "enqcmd",   "fsgsbase", "fxsr",       "hreset",   "invpcid", "kl",        "lwp",        "mmx",
      "movdir64b", "movdiri",  "mwaitx",   "pclmul",     "pconfig",  "pku",     "prefetchi", "prfchw",     "ptwrite",
      "rdpid",     "rdpru",    "rdrnd",    "rdseed",     "rtm",      "sahf",    "serialize", "sgx",        "sha",
      "shstk",     "sse",      "sse2",     "sse4a",      "tsxldtrk", "uintr",   "vaes",      "vpclmulqdq", "vzeroupper",
      "waitpkg",   "wbnoinvd", "widekl",   "x87",        "xsave",    "xsavec",  "xsaveopt",  "xsaves"};
  return names.contains(feature);
}

static bool isKnown(StringRef feature) {
  return any_of(runtime::kCpuFeatures, [&](const runtime::CpuFeature &known) { return feature == known.name; });
}

/// By LLVM's names, with what others imply only for the features that the runtime knows.
static std::vector<std::string> getFeatures(const Target &target, bool isHost) {
  std::vector<std::string> features;
  if (isHost) {
    for (const auto &feature : sys::getHostCPUFeatures())
      if (feature.getValue())
        features.push_back(feature.getKey().str());
  } else {
    std::unique_ptr<TargetMachine> machine = createTargetMachine(target);
    for (const runtime::CpuFeature &known : runtime::kCpuFeatures)
      if (machine->getMCSubtargetInfo()->checkFeatures(std::string("+") + known.name))
        features.push_back(known.name);
    SmallVector<StringRef> names;
    X86::getFeaturesForCPU(target.cpu, names);
    for (StringRef name : names)
      if (!isKnown(name.ltrim('+')))
        features.push_back(name.ltrim('+').str());
  }
  llvm::sort(features); // the host's come in the order of a hash table
  return features;
}

/// 48 KiB of 12 ways in Intel's cores since Ice Lake and AMD's since Zen 5, 32 KiB of 8 ways before them: what a name
/// that tells nothing (x86-64-v4) gets.
static unsigned getL1Ways(StringRef cpu) {
  static const StringSet<> names = {
      "icelake-client", "icelake-server", "rocketlake",    "tigerlake",      "sapphirerapids", "emeraldrapids",
      "graniterapids",  "alderlake",      "raptorlake",    "meteorlake",     "arrowlake",      "arrowlake-s",
      "lunarlake",      "pantherlake",    "diamondrapids", "graniterapids-d", "znver5"};
  return names.contains(cpu) ? 12 : 8;
}

/// The name that was meant, where one is near.
static std::string suggestMachine(StringRef march) {
  constexpr unsigned kMostEdits = 2;
  SmallVector<StringRef> names;
  X86::fillValidCPUArchList(names);
  auto edits = [&](StringRef name) { return march.edit_distance(name, /*AllowReplacements=*/true, kMostEdits + 1); };
  auto distance = [&](StringRef name) { // AMD sells znver4 as Zen 4
    bool isZen = name.starts_with("znver");
    return isZen ? std::min(edits(name), edits(("zen" + name.drop_front(5)).str())) : edits(name);
  };
  auto nearest = min_element(names, [&](StringRef a, StringRef b) { return distance(a) < distance(b); });
  if (nearest == names.end() || distance(*nearest) > kMostEdits)
    return "";
  return "did you mean '" + nearest->str() + "'? ";
}

/// What is made of the other fields.
static void describe(Target &target) {
  target.name = target.cpu;
  target.multipliesBytes = target.hasInt8Dot();
  target.description = formatv("{0} {1} {2} {3} +{4} -{5}", target.triple, target.cpu, target.vectorBytes,
                               target.vectorRegisters, join(target.features, ","), join(target.disabled, ","));
  // What the passes of compiler/codegen/cpu/pack read.
  target.loopKey = formatv("{0} {1} {2} {3}", target.vectorBytes, target.hasBf16Dot(), target.hasInt8Dot(),
                           target.hasMatrixUnit());
}

Expected<Target> getTarget(StringRef march) {
  initialize();
  bool isHost = march == "native";
  Target target = getBaseline();
  target.cpu = isHost ? sys::getHostCPUName().str() : march.str();
  if (!isHost && X86::parseArchX86(march) == X86::CK_None)
    return createStringError("unknown machine '" + march + "' (" + suggestMachine(march) +
                             "native, x86-64-v3, x86-64-v4 or a CPU's name)");
  for (std::string &feature : getFeatures(target, isHost)) {
    if (isKnown(feature))
      target.features.push_back(std::move(feature));
    else if (!isHarmless(feature))
      target.disabled.push_back(std::move(feature));
  }
  auto has = [&](StringRef feature) { return is_contained(target.features, feature); };
  if (!has("avx2") || !has("fma"))
    return createStringError("the machine '" + march + "' lacks AVX2 and FMA, which ptc's code needs (x86-64-v3 is the "
                             "least that has them)");
  bool isAvx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  target.vectorBytes = isAvx512 ? 64 : 32;
  target.vectorRegisters = isAvx512 ? 32 : 16;
  target.l1Ways = getL1Ways(target.cpu);
  describe(target);
  return target;
}

Expected<std::vector<Target>> getTargets(StringRef marchs) {
  SmallVector<StringRef> names;
  marchs.split(names, ',');
  std::vector<Target> targets;
  for (StringRef name : names) {
    Expected<Target> target = getTarget(name.trim());
    if (!target)
      return target.takeError();
    if (any_of(targets, [&](const Target &other) { return other.description == target->description; }))
      return createStringError("the machine '" + target->cpu + "' is named twice");
    targets.push_back(std::move(*target));
  }
  llvm::stable_sort(targets, [](const Target &a, const Target &b) {
    return std::pair(a.vectorBytes, a.features.size()) > std::pair(b.vectorBytes, b.features.size());
  });
  return targets;
}

bool Target::hasBf16Dot() const { return vectorBytes == 64 && is_contained(features, "avx512bf16"); }

bool Target::hasInt8Dot() const { return vectorBytes == 64 && is_contained(features, "avx512vnni"); }

bool Target::hasMatrixUnit() const {
  auto has = [&](StringRef feature) { return is_contained(features, feature); };
  return hasInt8Dot() && has("amx-tile") && has("amx-bf16") && has("amx-int8");
}

Target getBaseline() {
  Target target;
  target.triple = "x86_64-unknown-linux-gnu";
  target.cpu = "x86-64";
  target.vectorBytes = target.vectorRegisters = 16;
  target.l1Ways = 8;
  return target;
}

bool Target::runsHere() const {
  const StringMap<bool> here = sys::getHostCPUFeatures();
  return all_of(features, [&](const std::string &feature) { return here.lookup(feature); });
}

void Target::require(host::ProgramSpec &spec) const {
  spec.machine = cpu;
  spec.cpuFeatures = features;
}

std::unique_ptr<TargetMachine> createTargetMachine(const Target &target) {
  initialize();
  std::string error;
  Triple triple(target.triple);
  const llvm::Target *found = TargetRegistry::lookupTarget(triple, error);
  assert(found && "the X86 backend is linked in");
  std::string features;
  for (StringRef feature : target.features)
    features += ",+" + feature.str();
  for (StringRef feature : target.disabled)
    features += ",-" + feature.str();
  TargetOptions options;
  options.FunctionSections = true; // the linker folds helpers that several kernels have
  options.LoopAlignment = kCodeAlignment;
  std::unique_ptr<TargetMachine> machine(
      found->createTargetMachine(triple, target.cpu, StringRef(features).drop_front(!features.empty()), options,
                                 Reloc::PIC_, CodeModel::Small, CodeGenOptLevel::Default));
  return machine;
}

} // namespace ptc::cpu
