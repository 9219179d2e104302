//===- CommandText.h - the command line as text: help for shells and readers -===//
//
// CommandLine.cpp describes its options by this; completion and the manual page
// are written from it, so that neither can say anything else than the parser does.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}

namespace ptc {

struct OptionText {
  std::vector<std::string> names; ///< "-o", "--output"; of an operand its one name
  std::string argument;           ///< "FILE", "cpu|cuda"; empty: none
  std::string help;
  bool isRequired = false;

  /// The words to choose from, where the argument is one of a few.
  std::vector<std::string> choices() const;
  bool takesFile() const { return argument == "FILE" || argument == "DIR"; }
};

struct CommandText {
  std::string name, summary, examples;
  std::vector<OptionText> operands, options;
  std::vector<CommandText> commands;
};

/// A script for `shell` (bash, zsh, fish) that completes commands, options and their arguments.
void printCompletion(const CommandText &program, llvm::StringRef shell, llvm::raw_ostream &out);

/// In the format of man(7).
void printManual(const CommandText &program, llvm::StringRef version, llvm::raw_ostream &out);

/// The candidates nearest to a word that is none of them; empty where none is near.
std::string suggest(llvm::StringRef word, const std::vector<std::string> &candidates);

} // namespace ptc
