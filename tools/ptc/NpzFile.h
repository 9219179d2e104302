//===- NpzFile.h - NumPy's archives of arrays ------------------------------===//
//
// A zip archive with a file NAME.npy for each array (numpy.savez, format in
// numpy.lib.format).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tools/ptc/TensorFile.h"

namespace ptc {

/// The arrays, row-major. The error says what is wrong, and not with which file.
llvm::Expected<TensorFile> readNpz(std::unique_ptr<llvm::MemoryBuffer> buffer);

/// As writeTensorFile; types that NumPy lacks are errors.
llvm::Error writeNpz(llvm::StringRef path, llvm::ArrayRef<const DLTensor *> tensors, llvm::ArrayRef<std::string> names);

} // namespace ptc
