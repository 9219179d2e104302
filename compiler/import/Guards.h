//===- Guards.h - conditions that an export states as Python ---------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

namespace ptc::import {

/// `L['x'].size()[0] % 8 == 0` over the sizes that the program's inputs have; an error says what cannot be read.
llvm::Expected<Expression> parseGuard(llvm::StringRef text, const ExportedProgram &program);

} // namespace ptc::import
