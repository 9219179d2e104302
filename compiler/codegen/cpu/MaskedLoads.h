//===- MaskedLoads.h - masked loads of more than a register ---------------===//
#pragma once

namespace llvm {
class Function;
}

namespace ptc::cpu {

/// Loads of one register each in place of masked loads of several, where a whole register is known to be read or not to
/// be read. Where the machine has no mask registers (x86 before AVX-512) LLVM 22 makes an access of unknown size of it:
/// of a register that is not to be read it drops the mask, hence reads past the end of a buffer and answers what it
/// read, and another of its passes dies of the size. To be called last, as LLVM's passes find out what is constant.
void splitMaskedLoads(llvm::Function &function, unsigned registerBits);

} // namespace ptc::cpu
