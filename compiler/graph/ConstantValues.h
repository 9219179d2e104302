//===- ConstantValues.h - what is known when compiling --------------------===//
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace ptc {

/// Answers which values follow from weights and constants alone. Values may be
/// made while it is in use.
class ConstantValues {
public:
  bool contains(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, bool> known;
};

/// The key of the weight that an argument stands for; empty for other values.
llvm::StringRef getWeightKey(mlir::Value value);

} // namespace ptc
