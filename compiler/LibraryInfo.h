//===- LibraryInfo.h - what a library says of itself -----------------------===//
//
// A text in a note of the library's file (Host.h), which `ptc info` reads without running anything, and ptc_info
// answers: docs/deploy.md lists its members.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"
#include "compiler/support/Options.h"

#include "llvm/ADT/ArrayRef.h"

namespace ptc {

/// JSON, in one line. `programs` as emitHost takes them.
std::string describeLibrary(llvm::ArrayRef<host::ProgramSpec> programs, const Options &options);

} // namespace ptc
