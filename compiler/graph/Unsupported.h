//===- Unsupported.h - operators that ptc does not compile, and why -------===//
#pragma once

#include "dialects/aten/Schema.h"

namespace ptc {

/// Why ptc does not compile an operator, and what to do instead; empty when it is not meant to be.
/// docs/operators.md is made from these reasons.
llvm::StringRef whyUnsupported(const aten::Schema &schema);

} // namespace ptc
