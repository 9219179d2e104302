//===- ByteSource.h - bytes made where they are written --------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>

namespace ptc {

/// Bytes that nothing but the output needs, such as weights in the order that kernels read them. Gigabytes of them
/// never lie in memory together: each part is made, in a cache, where it is written.
struct ByteSource {
  uint64_t size;
  uint64_t unit; ///< divides `size`; below a page
  /// Fills `to`, of whole units, with those from `first` on. Any thread may call it, in any order.
  std::function<void(uint64_t first, llvm::MutableArrayRef<char> to)> make;

  /// Fills `to` with the bytes from `begin` on, wherever units end.
  void read(uint64_t begin, llvm::MutableArrayRef<char> to) const;
};

} // namespace ptc
