//===- CpuFeatures.h - the extensions of x86-64 that code may need ---------===//
//
// What the compiler lets LLVM use beyond the first x86-64 is in this list, and
// nothing else: so a library that the processor passes has no instruction that
// it lacks. Bit i of Program::cpuFeatures is entry i.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

enum class CpuRegister : uint8_t { Eax, Ebx, Ecx, Edx };

/// The registers that the system must save and restore for it: without, its instructions fault.
enum class CpuState : uint8_t { General, Avx, Avx512, Tile };

struct CpuFeature {
  const char *name; ///< LLVM's
  uint32_t leaf, subleaf; ///< of cpuid
  CpuRegister where;
  uint8_t bit;
  CpuState state;
};

constexpr CpuFeature kCpuFeatures[] = {
    {"sse3", 1, 0, CpuRegister::Ecx, 0, CpuState::General},
    {"ssse3", 1, 0, CpuRegister::Ecx, 9, CpuState::General},
    {"cx16", 1, 0, CpuRegister::Ecx, 13, CpuState::General},
    {"sse4.1", 1, 0, CpuRegister::Ecx, 19, CpuState::General},
    {"sse4.2", 1, 0, CpuRegister::Ecx, 20, CpuState::General},
    {"movbe", 1, 0, CpuRegister::Ecx, 22, CpuState::General},
    {"popcnt", 1, 0, CpuRegister::Ecx, 23, CpuState::General},
    {"lzcnt", 0x80000001, 0, CpuRegister::Ecx, 5, CpuState::General},
    {"bmi", 7, 0, CpuRegister::Ebx, 3, CpuState::General},
    {"bmi2", 7, 0, CpuRegister::Ebx, 8, CpuState::General},
    {"gfni", 7, 0, CpuRegister::Ecx, 8, CpuState::General},
    {"avx", 1, 0, CpuRegister::Ecx, 28, CpuState::Avx},
    {"avx2", 7, 0, CpuRegister::Ebx, 5, CpuState::Avx},
    {"fma", 1, 0, CpuRegister::Ecx, 12, CpuState::Avx},
    {"f16c", 1, 0, CpuRegister::Ecx, 29, CpuState::Avx},
    {"avxvnni", 7, 1, CpuRegister::Eax, 4, CpuState::Avx},
    {"avxifma", 7, 1, CpuRegister::Eax, 23, CpuState::Avx},
    {"avxvnniint8", 7, 1, CpuRegister::Edx, 4, CpuState::Avx},
    {"avxneconvert", 7, 1, CpuRegister::Edx, 5, CpuState::Avx},
    {"avxvnniint16", 7, 1, CpuRegister::Edx, 10, CpuState::Avx},
    {"avx512f", 7, 0, CpuRegister::Ebx, 16, CpuState::Avx512},
    {"avx512dq", 7, 0, CpuRegister::Ebx, 17, CpuState::Avx512},
    {"avx512ifma", 7, 0, CpuRegister::Ebx, 21, CpuState::Avx512},
    {"avx512cd", 7, 0, CpuRegister::Ebx, 28, CpuState::Avx512},
    {"avx512bw", 7, 0, CpuRegister::Ebx, 30, CpuState::Avx512},
    {"avx512vl", 7, 0, CpuRegister::Ebx, 31, CpuState::Avx512},
    {"avx512vbmi", 7, 0, CpuRegister::Ecx, 1, CpuState::Avx512},
    {"avx512vbmi2", 7, 0, CpuRegister::Ecx, 6, CpuState::Avx512},
    {"avx512vnni", 7, 0, CpuRegister::Ecx, 11, CpuState::Avx512},
    {"avx512bitalg", 7, 0, CpuRegister::Ecx, 12, CpuState::Avx512},
    {"avx512vpopcntdq", 7, 0, CpuRegister::Ecx, 14, CpuState::Avx512},
    {"avx512vp2intersect", 7, 0, CpuRegister::Edx, 8, CpuState::Avx512},
    {"avx512fp16", 7, 0, CpuRegister::Edx, 23, CpuState::Avx512},
    {"avx512bf16", 7, 1, CpuRegister::Eax, 5, CpuState::Avx512},
    {"amx-bf16", 7, 0, CpuRegister::Edx, 22, CpuState::Tile},
    {"amx-tile", 7, 0, CpuRegister::Edx, 24, CpuState::Tile},
    {"amx-int8", 7, 0, CpuRegister::Edx, 25, CpuState::Tile},
    {"amx-fp16", 7, 1, CpuRegister::Eax, 21, CpuState::Tile},
};
constexpr int kCpuFeatureCount = sizeof(kCpuFeatures) / sizeof(kCpuFeatures[0]);
static_assert(kCpuFeatureCount <= 64, "bits of Program::cpuFeatures");

} // namespace ptc::runtime
