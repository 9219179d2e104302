//===- OpenSizes.h - sizes that a user chooses for a model's symbols --------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptc {

/// A symbol of a model: a size, or the value of a number, that calls choose.
struct OpenSize {
  std::string name;                ///< "s77", "batch"
  int64_t min = 0, max = -1;       ///< max is -1 where it is unbounded.
  std::vector<std::string> places; ///< Dimensions of inputs that are the symbol, "images.0"; a number's input, "count".
};

/// The value of each symbol: what `chosen` has for it, by its name or one of its places, as in "batch=8,images.2=224";
/// else the smallest that is not 0. An error says which names there are, and their ranges.
llvm::Expected<llvm::SmallVector<int64_t>> chooseSizes(llvm::ArrayRef<OpenSize> symbols, llvm::StringRef chosen);

/// What is wrong with the form of "batch=8,images.2=224"; empty: nothing.
std::string checkSizes(llvm::StringRef chosen);

} // namespace ptc
