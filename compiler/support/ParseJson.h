//===- ParseJson.h - JSON that somebody else wrote --------------------------===//
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace ptc {

/// As llvm::json::parse, which needs a stack as deep as the text; here arrays and objects have a limit of depth.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace ptc
