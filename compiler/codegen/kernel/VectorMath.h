//===- VectorMath.h - elementary functions on vectors ---------------------===//
//
// Each function emits code for a float or double scalar or vector. Float
// results are within 2 ulp; double ones call libm for each lane. NaN, infinities
// and denormals are as in C.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

// VectorMathExp.cpp
llvm::Value *emitExp(Ir &b, llvm::Value *x);
llvm::Value *emitFlushedExp(Ir &b, llvm::Value *x); ///< f32: 0 in place of subnormal numbers
llvm::Value *emitExp2(Ir &b, llvm::Value *x);
llvm::Value *emitExpm1(Ir &b, llvm::Value *x);
llvm::Value *emitSinh(Ir &b, llvm::Value *x);
llvm::Value *emitCosh(Ir &b, llvm::Value *x);
llvm::Value *emitTanh(Ir &b, llvm::Value *x);
llvm::Value *emitErf(Ir &b, llvm::Value *x);
llvm::Value *emitErfc(Ir &b, llvm::Value *x);

// VectorMathLog.cpp
llvm::Value *emitLog(Ir &b, llvm::Value *x);
llvm::Value *emitLog2(Ir &b, llvm::Value *x);
llvm::Value *emitLog10(Ir &b, llvm::Value *x);
llvm::Value *emitLog1p(Ir &b, llvm::Value *x);
llvm::Value *emitAsinh(Ir &b, llvm::Value *x);
llvm::Value *emitAcosh(Ir &b, llvm::Value *x);
llvm::Value *emitAtanh(Ir &b, llvm::Value *x);
llvm::Value *emitPow(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitCbrt(Ir &b, llvm::Value *x);
llvm::Value *emitRsqrt(Ir &b, llvm::Value *x);

// VectorMathTrig.cpp
llvm::Value *emitSin(Ir &b, llvm::Value *x);
llvm::Value *emitCos(Ir &b, llvm::Value *x);
llvm::Value *emitTan(Ir &b, llvm::Value *x);
llvm::Value *emitAsin(Ir &b, llvm::Value *x);
llvm::Value *emitAcos(Ir &b, llvm::Value *x);
llvm::Value *emitAtan(Ir &b, llvm::Value *x);
llvm::Value *emitAtan2(Ir &b, llvm::Value *y, llvm::Value *x);

} // namespace ptc::kernel
