//===- ComplexFunctions.h - complex functions by real ones ----------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

namespace ptc::decompose {

/// A complex tensor as its real and its imaginary part.
struct Complex {
  T re, im;
};

Complex mul(Complex x, Complex y);
T magnitude(B &b, Complex x);

/// The elementwise prim `name` of complex operands; nullopt when it has no complex result.
std::optional<Complex> applyComplex(B &b, llvm::StringRef name, llvm::ArrayRef<Complex> operands);

} // namespace ptc::decompose
