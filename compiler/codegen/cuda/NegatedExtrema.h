//===- NegatedExtrema.h - minima and maxima of negated integers -------------===//
#pragma once

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// Negates integers of 16 and 32 bits by ~x + 1 where the result goes to a signed minimum or maximum. ptxas 12.8
/// and 13.0 make one instruction of three operands of min(min(a, -b), c) on sm_90 (VIMNMX3), and forget that b is
/// negated. In inline assembly, since LLVM would make a negation of it again; to be called last.
void negateOutsideExtrema(llvm::Module &module);

} // namespace ptc::cuda
