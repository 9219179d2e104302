//===- Targets.h - the machines that a library is for ---------------------===//
#pragma once

#include "compiler/Target.h"
#include "compiler/support/Options.h"

#include <memory>
#include <vector>

namespace ptc {

using Targets = std::vector<std::unique_ptr<const Target>>;

/// By options.march or options.gpuArch, the most capable machine first. Warns where the precision that the options ask
/// for is slow.
llvm::Expected<Targets> parseTargets(const Options &options);

/// Target::multipliesBytes, of all.
bool allMultiplyBytes(const Targets &targets);

} // namespace ptc
