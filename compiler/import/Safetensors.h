//===- Safetensors.h - the header of a safetensors file ----------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "llvm/Support/Error.h"

namespace ptc::import {

/// The tensors of a mapped file, their bytes in place. Checks what the format
/// promises: every tensor inside the file, of the size that its shape says, no
/// two overlapping.
llvm::Expected<StoredTensors> readSafetensors(llvm::ArrayRef<char> file);

} // namespace ptc::import
