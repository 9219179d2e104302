//===- Targets.h - the machines that a library is for ---------------------===//
#pragma once

#include "compiler/Variants.h"

namespace ptc {

/// By options.march, the most capable machine first. Warns where the precision that the options ask for is slow.
llvm::Expected<Targets> parseTargets(const Options &options);

} // namespace ptc
