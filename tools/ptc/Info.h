//===- Info.h - what a library says of itself -----------------------------===//
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace ptc {

/// Of a library's content: the members of its note, its size and its hash. Nothing of it runs.
llvm::Expected<llvm::json::Object> readLibraryInfo(llvm::StringRef content);

} // namespace ptc
