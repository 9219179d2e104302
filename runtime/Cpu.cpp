//===- Cpu.cpp ------------------------------------------------------------===//
//
// Asks the processor itself: __builtin_cpu_supports would need the compiler's
// support library in every model.
//
//===----------------------------------------------------------------------===//

#include "runtime/Cpu.h"
#include "runtime/Program.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ptc::runtime {

namespace {
enum Register { kEax, kEbx, kEcx, kEdx };

/// The bits of one cpuid register that make up a feature.
struct FeatureBits {
  uint64_t feature;
  const char *name;
  uint32_t leaf, subleaf;
  Register where;
  uint32_t bits;
};
} // namespace

static const FeatureBits kFeatureBits[] = {
    {kCpuFma, "fma", 1, 0, kEcx, 1u << 12},
    {kCpuF16c, "f16c", 1, 0, kEcx, 1u << 29},
    {kCpuAvx2, "avx2", 7, 0, kEbx, 1u << 5},
    {kCpuBmi2, "bmi2", 7, 0, kEbx, 1u << 8},
    {kCpuAvx512, "avx512", 7, 0, kEbx, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31},
    {kCpuAvx512Vnni, "avx512vnni", 7, 0, kEcx, 1u << 11},
    {kCpuAvx512Fp16, "avx512fp16", 7, 0, kEdx, 1u << 23},
    {kCpuAmxBf16, "amx-bf16", 7, 0, kEdx, 1u << 22},
    {kCpuAmxTile, "amx-tile", 7, 0, kEdx, 1u << 24},
    {kCpuAmxInt8, "amx-int8", 7, 0, kEdx, 1u << 25},
    {kCpuAvxVnni, "avxvnni", 7, 1, kEax, 1u << 4},
    {kCpuAvx512Bf16, "avx512bf16", 7, 1, kEax, 1u << 5},
};

static bool hasBits(const FeatureBits &wanted) {
  uint32_t registers[4];
  if (!__get_cpuid_count(wanted.leaf, wanted.subleaf, &registers[kEax], &registers[kEbx], &registers[kEcx],
                         &registers[kEdx]))
    return false;
  return (registers[wanted.where] & wanted.bits) == wanted.bits;
}

/// The register files that the system saves and restores: without, instructions fault.
static uint64_t enabledStates() {
  constexpr uint32_t kXsave = 1u << 27;
  if (!hasBits({0, "xsave", 1, 0, kEcx, kXsave}))
    return 0;
  uint32_t low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

const char *missingCpuFeature(uint64_t features) {
  constexpr uint64_t kAvxStates = 0x6, kAvx512States = 0xe6, kTileStates = 0x60000;
  constexpr uint64_t kAmx = kCpuAmxTile | kCpuAmxInt8 | kCpuAmxBf16;
  constexpr uint64_t kAnyAvx512 = kCpuAvx512 | kCpuAvx512Vnni | kCpuAvx512Bf16 | kCpuAvx512Fp16;
  for (const FeatureBits &wanted : kFeatureBits)
    if ((features & wanted.feature) && !hasBits(wanted))
      return wanted.name;
  uint64_t states = features ? enabledStates() : 0;
  if ((features & ~kCpuBmi2) && (states & kAvxStates) != kAvxStates)
    return "avx2";
  if ((features & kAnyAvx512) && (states & kAvx512States) != kAvx512States)
    return "avx512";
  constexpr int kRequestPermission = 0x1023, kTileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  bool isAmxGranted = !(features & kAmx) || ((states & kTileStates) == kTileStates &&
                                             syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0);
  return isAmxGranted ? nullptr : "amx-tile";
}

} // namespace ptc::runtime
