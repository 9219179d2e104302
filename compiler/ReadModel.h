//===- ReadModel.h - the model of the options, with the loss that they name -===//
#pragma once

#include "compiler/import/Import.h"
#include "compiler/support/Options.h"

namespace ptc {

class Times;

/// What users may not expect of it is in its warnings. `isForReport`: what ptc does not compile is no error yet.
llvm::Expected<ImportedModel> readModel(const Options &options, mlir::MLIRContext &context, Times &times,
                                        bool isForReport = false);

} // namespace ptc
