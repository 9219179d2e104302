//===- Math.cpp - libm's functions for GPUs, by their names in C ----------===//
//
// libclc has most of them as OpenCL's overloads, whose names say the types: exp of
// a double is _Z3expd. What a GPU has an instruction for is a builtin.
//
//===----------------------------------------------------------------------===//

#define PTC_UNARY(length, name)                                                                                        \
  double clc_##name(double) __asm__("_Z" #length #name "d");                                                           \
  extern "C" double name(double x) { return clc_##name(x); }
PTC_UNARY(3, exp)
PTC_UNARY(4, exp2)
PTC_UNARY(3, log)
PTC_UNARY(4, log2)
PTC_UNARY(5, log10)
PTC_UNARY(5, log1p)
PTC_UNARY(4, cbrt)
PTC_UNARY(3, cos)
PTC_UNARY(4, acos)
PTC_UNARY(4, tanh)
PTC_UNARY(5, asinh)
PTC_UNARY(5, acosh)
PTC_UNARY(5, atanh)
PTC_UNARY(4, erfc)

// Of -0 libclc's results lose the sign; and two read outside their tables at NaN and at what is beyond range.
#define PTC_ODD(length, name)                                                                                          \
  double clc_##name(double) __asm__("_Z" #length #name "d");                                                           \
  extern "C" double name(double x) { return x == 0 ? x : clc_##name(x); }
PTC_ODD(5, expm1)
PTC_ODD(3, sin)
PTC_ODD(3, tan)
PTC_ODD(4, asin)
PTC_ODD(4, atan)
PTC_ODD(3, erf)

#define PTC_HYPERBOLIC(length, name, limit)                                                                            \
  double clc_##name(double) __asm__("_Z" #length #name "d");                                                           \
  extern "C" double name(double x) { return __builtin_fabs(x) < 711 ? clc_##name(x) : limit * __builtin_inf(); }
PTC_HYPERBOLIC(4, sinh, x)
PTC_HYPERBOLIC(4, cosh, __builtin_fabs(x))

#define PTC_BINARY(length, name)                                                                                       \
  double clc_##name(double, double) __asm__("_Z" #length #name "dd");                                                  \
  extern "C" double name(double x, double y) { return clc_##name(x, y); }
PTC_BINARY(5, atan2)
PTC_BINARY(4, fmod)
PTC_BINARY(5, hypot)

// Exponents beyond 2^70 are all even, and too large for any base but 1; libclc's products overflow with them.
double clc_pow(double, double) __asm__("_Z3powdd");
extern "C" double pow(double x, double y) {
  constexpr double kMost = 0x1p70;
  return clc_pow(x, __builtin_fabs(y) > kMost && !__builtin_isinf(y) ? __builtin_copysign(kMost, y) : y);
}

double clc_frexp(double, int *) __asm__("_Z5frexpdPi");
double clc_ldexp(double, int) __asm__("_Z5ldexpdi");
double clc_lgamma_r(double, int *) __asm__("_Z8lgamma_rdPi");
extern "C" double frexp(double x, int *exponent) { return clc_frexp(x, exponent); }
extern "C" double ldexp(double x, int exponent) { return clc_ldexp(x, exponent); }
extern "C" double lgamma_r(double x, int *sign) { return clc_lgamma_r(x, sign); }

// Kernels have formulas of their own for float, except for large angles.
float clc_sinf(float) __asm__("_Z3sinf");
float clc_cosf(float) __asm__("_Z3cosf");
float clc_tanf(float) __asm__("_Z3tanf");
float clc_fmodf(float, float) __asm__("_Z4fmodff");
float clc_hypotf(float, float) __asm__("_Z5hypotff");
extern "C" float sinf(float x) { return x == 0 ? x : clc_sinf(x); }
extern "C" float cosf(float x) { return clc_cosf(x); }
extern "C" float tanf(float x) { return x == 0 ? x : clc_tanf(x); }
extern "C" float fmodf(float x, float y) { return clc_fmodf(x, y); }
extern "C" float hypotf(float x, float y) { return clc_hypotf(x, y); }

extern "C" double sqrt(double x) { return __builtin_sqrt(x); }
extern "C" double fabs(double x) { return __builtin_fabs(x); }
extern "C" double floor(double x) { return __builtin_floor(x); }
extern "C" double ceil(double x) { return __builtin_ceil(x); }
extern "C" double trunc(double x) { return __builtin_trunc(x); }
extern "C" double nearbyint(double x) { return __builtin_nearbyint(x); }
extern "C" double copysign(double x, double sign) { return __builtin_copysign(x, sign); }
extern "C" double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
extern "C" double fmin(double x, double y) { return __builtin_fmin(x, y); }
