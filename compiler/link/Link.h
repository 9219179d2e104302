//===- Link.h - objects, runtime and weights become model.so --------------===//
//
// lld runs inside this process on files in memory: the model's objects, the
// embedded runtime, and stubs that stand for the C library, so that nothing of
// a toolchain is needed where ptc runs. The weights never pass through the
// linker: they are appended to what it wrote (WeightSegment.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace ptc::link {

/// A weight's bytes and their place among the weights (host::layoutWeights).
struct WeightPiece {
  uint64_t offset;
  llvm::ArrayRef<char> bytes;
};

struct LinkInput {
  llvm::ArrayRef<llvm::StringRef> objects; ///< relocatable ELF; one of them from host::emitHost
  llvm::ArrayRef<WeightPiece> weights;     ///< by rising offset
};

/// Writes the library to `path`, which the caller renames when it is complete (compiler/OutputFile.h). The same input
/// gives the same bytes. At most one thread links at a time; others wait.
llvm::Error linkModel(const LinkInput &input, llvm::StringRef path);

/// One relocatable object out of several; `path` as above.
llvm::Error mergeObjects(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef path);

} // namespace ptc::link
