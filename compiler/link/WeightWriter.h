//===- WeightWriter.h - weights into a file --------------------------------===//
#pragma once

#include "compiler/link/File.h"
#include "compiler/link/WeightSegment.h"

namespace ptc::link {

/// Linux maps a file by pages of this size where its own cache of the file is made of them and addresses allow it:
/// fewer entries in the TLB, and weights that do not meet by chance in the sets of a cache.
constexpr uint64_t kHugePage = 2 << 20;

/// Makes the file end with `size` bytes of weights from `offset`, its size or more, on: with zeros between them. They
/// rise by offset. Answers the hash of the whole file (runtime/Seal.h).
llvm::Expected<uint64_t> writeWeights(File &file, uint64_t offset, uint64_t size, llvm::ArrayRef<WeightPiece> weights);

} // namespace ptc::link
