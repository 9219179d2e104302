//===- WeightSegment.h - the weights at the end of a linked library -------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace ptc {
struct ByteSource;
}

namespace ptc::link {

/// A weight's bytes and their place among the weights (host::layoutWeights).
struct WeightPiece {
  uint64_t offset;
  llvm::ArrayRef<char> bytes;
  const ByteSource *source = nullptr; ///< makes the bytes, if there is one

  uint64_t size() const;
};

/// Where `.lbss` of the linked library at `path` should be so that the weights, behind the end of this file, can be
/// mapped by huge pages: there an address and its place in the file are equal modulo the size of one. Nothing if the
/// weights are too few to gain by it.
llvm::Expected<std::optional<uint64_t>> findWeightsAddress(llvm::StringRef path);

/// Appends the weights, by rising offset, to the library at `path` and makes the section `.lbss`, to which the linker
/// gave only addresses, a read-only segment of these bytes, which the loader maps: it is shared between processes and
/// read as it is used. Then seals the file (runtime/Seal.h).
llvm::Error completeLibrary(llvm::StringRef path, llvm::ArrayRef<WeightPiece> weights);

} // namespace ptc::link
