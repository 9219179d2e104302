//===- WideShifts.h - shifts by amounts of 64 bits ---------------------------===//
#pragma once

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// Hides from LLVM that the amount of a 64-bit shift is what a select compares. LLVM 22 drops the select of
/// `amount < 64 ? x << amount : 0`, since PTX's shifts are 0 from 64 on, and then takes the lower half of the amount
/// alone: by 2^32 + 1 it shifts by 1. To be called last.
void hideWideShiftAmounts(llvm::Module &module);

} // namespace ptc::cuda
