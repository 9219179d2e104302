//===- VectorMath.h - elementary functions on vectors ---------------------===//
//
// Formulas of float, within 2 ulp, for scalars and vectors. Numbers of double go to a function of the device, lane by
// lane: one table (VectorMath.cpp) has both. NaN, infinities and denormals are as in C.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/kernel/MathExpr.h"

#include <optional>

namespace ptc::kernel {

/// A function of one or two numbers.
struct Elementary {
  llvm::StringLiteral operation; ///< of the math dialect
  Real (*unary)(Real);           ///< of float; null: it is binary
  Real (*binary)(Real, Real);
  llvm::StringLiteral libm;      ///< of double
};
llvm::ArrayRef<Elementary> getElementaries();

/// The function that is this operation of the math dialect, of numbers of float or double.
llvm::Value *emitElementary(Ir &b, llvm::StringRef operation, llvm::ArrayRef<llvm::Value *> x);

/// exp(x), but 0 in place of subnormal floats.
llvm::Value *emitFlushedExp(Ir &b, llvm::Value *x);

// VectorMathExp.cpp
Real exp(Real x);
Real flushedExp(Real x);
Real exp2(Real x);
Real expm1(Real x);
Real sinh(Real x);
Real cosh(Real x);
Real tanh(Real x);
Real erf(Real x);
Real erfc(Real x);

// VectorMathLog.cpp
Real log(Real x);
Real log2(Real x);
Real log10(Real x);
Real log1p(Real x);
Real asinh(Real x);
Real acosh(Real x);
Real atanh(Real x);
Real pow(Real x, Real y);
Real cbrt(Real x);
/// The powers that PyTorch multiplies out, of float and double.
std::optional<Real> powByConstant(Real x, llvm::Value *exponent);

// VectorMathTrig.cpp
Real sin(Real x);
Real cos(Real x);
Real tan(Real x);
Real asin(Real x);
Real acos(Real x);
Real atan(Real x);
Real atan2(Real y, Real x);

} // namespace ptc::kernel
