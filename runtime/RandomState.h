//===- RandomState.h - what compiler and runtime agree on of random numbers -===//
#pragma once

#include <cstdint>

namespace ptc::runtime {

/// The state that random operators read and advance, [key, draws so far] in i64, and the key that it starts with
/// (PyTorch's own).
constexpr const char *kRandomState = "ptc.random";
constexpr int64_t kDefaultSeed = 67280421310721;

} // namespace ptc::runtime
