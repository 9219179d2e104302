//===- ReadModel.h - the model of the options, with the loss that they name -===//
#pragma once

#include "compiler/import/Import.h"
#include "compiler/support/Options.h"

namespace ptc {

class Times;

/// What users may not expect of it is in its warnings.
llvm::Expected<ImportedModel> readModel(const Options &options, mlir::MLIRContext &context, Times &times);

} // namespace ptc
