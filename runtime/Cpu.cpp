//===- Cpu.cpp ------------------------------------------------------------===//
//
// Asks the processor itself: __builtin_cpu_supports would need the compiler's
// support library in every model.
//
//===----------------------------------------------------------------------===//

#include "runtime/Cpu.h"
#include "runtime/CpuFeatures.h"
#include "runtime/Device.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptc::runtime {

static bool hasBit(uint32_t leaf, uint32_t subleaf, CpuRegister where, uint8_t bit) {
  uint32_t registers[4];
  if (!__get_cpuid_count(leaf, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]))
    return false;
  return registers[static_cast<int>(where)] >> bit & 1;
}

/// The register files that the system saves and restores.
static uint64_t enabledStates() {
  constexpr uint8_t kOsXsave = 27;
  if (!hasBit(1, 0, CpuRegister::Ecx, kOsXsave))
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

/// A process asks for tiles before it uses them.
static bool mayUseTiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

const char *missingCpuFeature(uint64_t features) {
  constexpr uint64_t kStates[] = {0, 0x6, 0xe6, 0x60000}; // by CpuState
  uint64_t enabled = enabledStates();
  for (int i = 0; i < kCpuFeatureCount; ++i) {
    const CpuFeature &feature = kCpuFeatures[i];
    if (!(features >> i & 1))
      continue;
    uint64_t states = kStates[static_cast<int>(feature.state)];
    if (!hasBit(feature.leaf, feature.subleaf, feature.where, feature.bit) || (enabled & states) != states ||
        (feature.state == CpuState::Tile && !mayUseTiles()))
      return feature.name;
  }
  return nullptr;
}

static const Program *chooseForDevice(const Programs &programs, int32_t device, Error &error) {
  const Program *chosen = nullptr;
  if (const DeviceFunctions *functions = findFunctions(*programs.all[0].device))
    functions->choose(programs, device, &chosen, error);
  else
    error.set(PTC_UNSUPPORTED, "the library lacks the runtime for the device that its model is for");
  return chosen;
}

const Program *chooseProgram(const Programs &programs, int32_t device, Error &error) {
  if (programs.all[0].device)
    return chooseForDevice(programs, device, error);
  if (device > 0) { // the CPU has the number 0
    error.set(PTC_UNSUPPORTED, "the model runs on the CPU: there is no device %d for it", device);
    return nullptr;
  }
  const char *lacking = nullptr;
  for (int64_t i = 0; i < programs.count; ++i) {
    lacking = missingCpuFeature(programs.all[i].cpuFeatures);
    if (!lacking)
      return &programs.all[i];
  }
  error.set(PTC_UNSUPPORTED, "this processor lacks %s, which the model was compiled for (%s%s)", lacking,
            programs.count > 1 ? "at least " : "", programs.all[programs.count - 1].machine);
  return nullptr;
}

} // namespace ptc::runtime
