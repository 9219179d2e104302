//===- Outside.h - operators that ptc does not compile, and why ------------===//
#pragma once

#include "dialects/aten/Schema.h"

namespace ptc {

/// Why an operator is outside of what ptc compiles, and what to do instead; empty when it is not meant to be.
/// docs/operators.md is made from these reasons.
llvm::StringRef whyOutside(const aten::Schema &schema);

} // namespace ptc
