//===- ChooseLayout.h - channels last for convolutions --------------------===//
//
// Before: convolutions have channels first, as PyTorch's do; linear layers have features last.
// After:  convolutions have channels last, and linear layers a few features first where their inputs have; transposes
//         stand at the edges of what they reach and have sunk through everything that works in either order, so that
//         there is none between the layers of a network.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Operation;
class OpBuilder;
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createChooseLayoutPass();

/// Moves the transposes of an operation's operands behind it, where it can work
/// on the operands as they lie; answers whether it was replaced (SinkTransposes.cpp).
bool sinkTransposes(mlir::OpBuilder &b, mlir::Operation *op);

} // namespace ptc
