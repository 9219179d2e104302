//===- CompileOptions.h - options that compiling and explaining share -----===//
#pragma once

#include "compiler/support/Options.h"

#include <CLI/CLI.hpp>

namespace ptc {

/// Options of every command that reads a model.
void addModelOptions(CLI::App &command, Options &options);

void addFallback(CLI::App &command, Options &options);
void addGraph(CLI::App &command, Options &options);
/// `sizes`: as OpenSizes.h reads them.
CLI::Option *addSizes(CLI::App &command, std::string &sizes);
void addTuning(CLI::App &command, Options &options);

/// Behind the others: it knows which of them a step of training cannot have.
void addTraining(CLI::App &command, Training &train);

} // namespace ptc
