//===- FaultNote.h - how kernels tell of an index out of range --------------===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

/// What kernels note of an index out of range: ~(code << 48 | the index's lower 48 bits). The largest one is that of a
/// kernel's first check and of its least index (those below 0 come last), so that what is told does not depend on the
/// threads; nothing is 0. Indices of more bits are noted as the outermost ones of 48.
constexpr int32_t kFaultIndexBits = 48;
constexpr int64_t kMostFaultIndex = (int64_t(1) << (kFaultIndexBits - 1)) - 1, kLeastFaultIndex = -kMostFaultIndex - 1;
struct FaultNote {
  int32_t code; ///< which check of the kernel, from 1 on
  int64_t index;

  explicit FaultNote(uint64_t noted)
      : code(static_cast<int32_t>(~noted >> kFaultIndexBits)),
        index(static_cast<int64_t>(~noted << (64 - kFaultIndexBits)) >> (64 - kFaultIndexBits)) {}
};

} // namespace ptc::runtime
