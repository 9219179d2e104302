// Functions that a GPU computes to some digits, as exact as it promises and no more (PTX ISA, "Floating Point
// Instructions"), and what x86 calls for want of an instruction.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {
/// Off by up to `units` in the last place, as `x` decides. What a GPU has exactly stays.
float disturb(double exact, float x, int units) {
  auto result = static_cast<float>(exact);
  if (result == 0 || result == 1 || std::isinf(result))
    return result;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  int steps = static_cast<int>((bits * 2654435761u >> 16) % (2 * units + 1)) - units;
  float towards = steps > 0 ? std::numeric_limits<float>::infinity() : 0;
  for (int i = 0; i < std::abs(steps); ++i)
    result = std::nextafter(result, towards);
  return result;
}

float flush(float x) { return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.f, x) : x; }
} // namespace

extern "C" {
float fake_exp2(float x) { return disturb(std::exp2(static_cast<double>(x)), x, 2); }
float fake_exp2_flushed(float x) { return flush(fake_exp2(flush(x))); }
float fake_reciprocal_flushed(float x) { return flush(disturb(1 / static_cast<double>(flush(x)), x, 1)); }
float fake_divide(float x, float y) { return disturb(static_cast<double>(x) / y, y, 2); }
float fake_divide_flushed(float x, float y) { return flush(fake_divide(flush(x), flush(y))); }

/// To the nearest, of two the even one.
__bf16 __truncsfbf2(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = std::isnan(x) ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1);
  auto high = static_cast<uint16_t>(bits >> 16);
  __bf16 result;
  memcpy(&result, &high, sizeof result);
  return result;
}
}
