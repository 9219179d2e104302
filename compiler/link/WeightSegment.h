//===- WeightSegment.h - the weights at the end of a linked library -------===//
#pragma once

#include "compiler/link/Link.h"

namespace ptc::link {

/// Appends the weights to the library at `path` and makes the section `.lbss`, to which the linker gave only addresses,
/// a read-only segment of these bytes, which the loader maps: it is shared between processes and read as it is used.
llvm::Error appendWeights(llvm::StringRef path, llvm::ArrayRef<WeightPiece> weights);

} // namespace ptc::link
