//===- StackTrace.h - which of a trace's lines a user wants to see ---------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

namespace ptc::import {

/// Sets file and line from a Python stack trace, outermost frame first: the
/// innermost frame that is not inside torch itself, else the innermost.
void findUserLine(llvm::StringRef trace, Source &source);

/// "encoder.layer" of torch's `key,path,class;key,path,class`.
std::string innermostModule(llvm::StringRef stack);

} // namespace ptc::import
