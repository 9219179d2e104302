//===- LoadWeight.h - a stored tensor => row-major bytes --------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/weights/WeightStore.h"

namespace ptc::import {

/// Adds the tensor under `key`, in place when it is stored row-major. The error
/// says what is wrong with the tensor, and not which one it is.
llvm::Expected<Weight> loadWeight(llvm::StringRef key, const StoredTensor &stored, WeightStore &weights,
                                  mlir::MLIRContext &context);

} // namespace ptc::import
