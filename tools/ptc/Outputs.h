//===- Outputs.h - outputs that would harm what a command reads -------------===//
#pragma once

#include "compiler/support/Options.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace ptc {

/// Whether the file `output`, if it is there, is none of the inputs, however it is spelled and linked; if not, an error
/// has been printed, and the command line is wrong. Empty names are none.
bool isApart(llvm::StringRef option, llvm::StringRef output, llvm::ArrayRef<std::string> inputs);

/// The same of all that a compilation reads and writes, and whether the output has a name that does not lie.
bool areApart(const Options &options);

/// The files that a model is read from.
std::vector<std::string> findModelFiles(const Options &options);

} // namespace ptc
