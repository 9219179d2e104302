//===- BodyOps.h - conversions and integer operations without traps -------===//
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/IRBuilder.h"

namespace mlir {
class Operation;
}

namespace ptc::kernel {

using Ir = llvm::IRBuilder<>;

/// Whether emitScalarOp knows the operation of this name.
bool isScalarOp(llvm::StringRef name);

/// How an arith.cmpi compares; nullopt for other operations.
std::optional<llvm::CmpInst::Predicate> getComparison(mlir::Operation &op);

/// Between floating types, rounding to nearest even. bf16 by integer operations,
/// which every machine has.
llvm::Value *emitFloatCast(Ir &b, llvm::Value *x, llvm::Type *to);

/// Truncates; what does not fit (and NaN) is the most negative number of 32 (or
/// for i64, 64) bits, as the machine's conversion gives it.
llvm::Value *emitFloatToInteger(Ir &b, llvm::Value *x, llvm::Type *to);

/// Of 32 or 64 bits: magnitudes up to 2^bits; a negative number wraps around, as the machines' conversions have only a
/// sign, which is what PyTorch's code comes to as well.
llvm::Value *emitFloatToUnsigned(Ir &b, llvm::Value *x, llvm::Type *to);

// x / 0 is 0; the most negative number by -1 is itself.
llvm::Value *emitDivide(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitDivideUnsigned(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitFloorDivide(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitCeilDivide(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitRemainder(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitRemainderUnsigned(Ir &b, llvm::Value *x, llvm::Value *y);

// A shift by the width or more shifts everything out.
llvm::Value *emitShiftLeft(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitShiftRight(Ir &b, llvm::Value *x, llvm::Value *y);
llvm::Value *emitShiftRightUnsigned(Ir &b, llvm::Value *x, llvm::Value *y);

/// Wraps around; negative exponents give 0 but for x = 1 and -1.
llvm::Value *emitIntegerPower(Ir &b, llvm::Value *x, llvm::Value *y);

} // namespace ptc::kernel
