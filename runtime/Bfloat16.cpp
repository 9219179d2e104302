//===- Bfloat16.cpp - what LLVM calls for want of an instruction ----------===//
//
// Kernels convert to bfloat16 in bits. But LLVM makes choices between bfloat16 values of branches that kernels have,
// and widens those on processors without AVX512-BF16: then it narrows them by compiler-rt's __truncsfbf2.
//
//===----------------------------------------------------------------------===//

#include <stdint.h>
#include <string.h>

/// To the nearest, of two the even one; a NaN stays one with its sign and what is left of its payload.
extern "C" __attribute__((visibility("hidden"))) __bf16 __truncsfbf2(float x) {
  constexpr uint32_t kInfinity = 0x7f800000, kQuiet = 0x400000;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bool isNan = (bits & ~(UINT32_C(1) << 31)) > kInfinity;
  bits = isNan ? bits | kQuiet : bits + 0x7fff + (bits >> 16 & 1);
  auto high = static_cast<uint16_t>(bits >> 16);
  __bf16 result;
  memcpy(&result, &high, sizeof result);
  return result;
}
