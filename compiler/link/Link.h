//===- Link.h - objects and runtime become model.so -----------------------===//
//
// lld runs inside this process on files in memory: the model's objects, the
// embedded runtime, and stubs that stand for the C library, so that nothing of
// a toolchain is needed where ptc runs. The weights never pass through the
// linker: WeightSegment.h appends them to what it wrote, and seals the file.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace ptc::link {

/// What a library gets besides the runtime that all have.
struct RuntimeParts {
  bool cuda = false;        ///< for GPUs
  bool checkpoints = false; ///< for models with states
};

/// Links relocatable ELF files, one of them from host::emitHost, to a library that lacks but its weights. It is written
/// to `path`, which the caller renames when it is complete (compiler/support/OutputFile.h). The same input gives the
/// same bytes. At most one thread links at a time; others wait.
llvm::Error linkModel(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef path, RuntimeParts parts = {});

/// One relocatable object out of several; `path` as above.
llvm::Error mergeObjects(llvm::ArrayRef<llvm::StringRef> objects, llvm::StringRef path);

} // namespace ptc::link
