//===- MadeInputs.h - inputs of a library, made up -------------------------===//
#pragma once

#include "compiler/support/OpenSizes.h"
#include "tools/ptc/Library.h"

namespace ptc {

/// What a call of the model chooses.
std::vector<OpenSize> findOpenSizes(const ptc_signature &model);

/// Random values for what a call must give, of the sizes that `chosen` says (OpenSizes.h).
llvm::Expected<Tensors> makeInputs(const ptc_signature &model, llvm::StringRef chosen);

} // namespace ptc
