//===- MaskedLoads.h - loads of which some lanes are known not to be there --===//
#pragma once

namespace llvm {
class Module;
}

namespace ptc::cuda {

/// Keeps the places of masked loads from shared memory from LLVM's passes until `showSharedPlaces`. InstCombine reads
/// all lanes where it knows that memory is there, and chooses among them afterwards. Behind a small tensor nobody has
/// written, or another thread writes without a barrier.
void hideSharedPlaces(llvm::Module &module);
void showSharedPlaces(llvm::Module &module);

/// A load of each lane that is there in place of masked loads whose mask is constant: LLVM 22 makes one load of all
/// lanes of those, and forgets what the other lanes are instead. To be called last, as LLVM's passes find out what is
/// constant.
void expandConstantMasks(llvm::Module &module);

} // namespace ptc::cuda
