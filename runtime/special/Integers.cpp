#include "runtime/special/Special.h"

/// Euclid's algorithm on magnitudes; gcd(x, 0) = |x|.
int64_t ptc_special_gcd(int64_t x, int64_t y) {
  uint64_t a = x < 0 ? 0 - uint64_t(x) : x, b = y < 0 ? 0 - uint64_t(y) : y;
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return int64_t(a);
}
