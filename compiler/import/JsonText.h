//===- JsonText.h - JSON from files that nobody vouches for ------------------===//
#pragma once

#include "llvm/Support/JSON.h"

namespace ptc::import {

/// llvm::json::parse, which descends by recursion, on text whose depth has been
/// looked at first.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

} // namespace ptc::import
