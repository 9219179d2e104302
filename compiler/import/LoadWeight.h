//===- LoadWeight.h - a stored tensor => row-major bytes --------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/import/Weights.h"

#include <optional>

namespace ptc::import {

/// Adds the tensor under `key`, in place when it is stored row-major. The error
/// says what is wrong with the tensor, and not which one it is.
llvm::Expected<Weight> loadWeight(llvm::StringRef key, const StoredTensor &stored, WeightStore &weights,
                                  mlir::MLIRContext &context);

/// How many elements behind the first of `outer`, which is row-major, `inner` begins, where it is a part of that.
std::optional<int64_t> placeWithin(const StoredTensor &inner, const StoredTensor &outer);

/// Whether an element of one lies on an element of the other. Both can be loaded.
bool shareMemory(const StoredTensor &first, const StoredTensor &second);

} // namespace ptc::import
