//===- WeightsFile.h - weights in a file of their own ------------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"
#include "compiler/weights/WeightStore.h"

namespace ptc::import {

/// The tensors of a safetensors file, which the store keeps mapped. None where `path` is empty.
llvm::Expected<StoredTensors> openWeights(llvm::StringRef path, WeightStore &weights);

/// Whether it is what a training step has kept (docs/training.md), which has only the weights that the step changed.
bool isCheckpoint(const StoredTensors &tensors);

} // namespace ptc::import
