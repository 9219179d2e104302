//===- GraphText.h - the printed form of an exported graph -------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "llvm/Support/Error.h"

namespace ptc::import {

/// Reads what `str(exported_program)` or a GraphModule's `print_readable()`
/// prints, or a graph written by hand in that manner. An error begins with
/// "line:column: ", where the text begins with `firstLine`.
llvm::Expected<ExportedProgram> readGraphText(llvm::StringRef text, unsigned firstLine = 1);

} // namespace ptc::import
