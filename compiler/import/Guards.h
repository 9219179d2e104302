//===- Guards.h - conditions that an export states as Python ---------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

namespace ptc::import {

/// `L['x'].size()[0] % 8 == 0` over the sizes that the program's inputs have.
/// What cannot be read becomes a symbol with the text as its name: a condition
/// that nobody can evaluate, but which `explain` shows.
Expression parseGuard(llvm::StringRef text, const ExportedProgram &program);

} // namespace ptc::import
