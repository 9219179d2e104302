#include "tools/ptc/Version.h"

#include "compiler/support/Format.h"

#include "llvm/Config/llvm-config.h"

namespace ptc {

std::string getCommit() {
  return
#include "tools/ptc/Commit.inc"
      ;
}

std::string getLlvmVersion() { return LLVM_VERSION_STRING; }

std::string describeVersion() {
  std::string commit = getCommit();
  return fmt::format("ptc {} ({}, LLVM {})", kVersion, commit.empty() ? "development build" : "commit " + commit,
                     getLlvmVersion());
}

} // namespace ptc
