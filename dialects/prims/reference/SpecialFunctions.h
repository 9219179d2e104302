//===- SpecialFunctions.h - functions that <cmath> and <complex> lack -----===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <complex>

namespace ptc::prims {

/// A function of runtime/special/Special.h; none of them when there is none of that name.
struct SpecialFunction {
  double (*unary)(double) = nullptr;
  double (*binary)(double, double) = nullptr;
  int64_t (*integer)(int64_t, int64_t) = nullptr;
};
SpecialFunction findSpecialFunction(llvm::StringRef name);

double erfinv(double x);

inline double exp2(double x) { return std::exp2(x); }
inline double expm1(double x) { return std::expm1(x); }
inline double log1p(double x) { return std::log1p(x); }
inline double log2(double x) { return std::log2(x); }
inline std::complex<double> exp2(std::complex<double> x) { return std::exp(x * M_LN2); }
inline std::complex<double> expm1(std::complex<double> x) { return std::exp(x) - 1.0; }
inline std::complex<double> log1p(std::complex<double> x) { return std::log(1.0 + x); }
inline std::complex<double> log2(std::complex<double> x) { return std::log(x) / M_LN2; }

} // namespace ptc::prims
