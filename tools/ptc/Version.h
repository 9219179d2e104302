//===- Version.h - which ptc this is ----------------------------------------===//
#pragma once

#include <string>

namespace ptc {

inline constexpr const char *kVersion = "0.1.0";

/// Of the sources; empty in a development build, which may be of any.
std::string getCommit();
std::string getLlvmVersion();

/// "ptc 0.1.0 (commit 1a2b3c4d5e6f, LLVM 22.1.8)"
std::string describeVersion();

} // namespace ptc
