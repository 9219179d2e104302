//===- Decompose.h - aten => prims ----------------------------------------===//
//
// Before: functional aten (Functionalize has run).
// After:  prims, and control operations. Values keep the shapes and types that the importer
//         gave them; a row that computes others is an error.
//
// What an operator means in prims is its row of the table (decompose/Table.h).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/LogicalResult.h"

#include <memory>
#include <string>

namespace mlir {
class Operation;
class Pass;
} // namespace mlir

namespace ptc {

class WeightStore;
namespace aten {
struct Schema;
}

/// Pipeline name: decompose. Reports every operation that it cannot
/// decompose, each at its place, before it fails; with `fallback` such ones
/// become control.external, and only what cannot fails. A program that draws
/// random numbers gets a state for them, whose first value joins the weights. In `training`, what torch.detach gives is
/// prims.stop_gradient, for Differentiate to see; and where the device has a kernel of its derivative
/// (`attentionGradient`), attention gives its rows' log-sum-exp.
std::unique_ptr<mlir::Pass> createDecomposePass(WeightStore &weights, bool fallback, bool training,
                                                bool attentionGradient);

/// Whether there is a row for "aten.add.Tensor". A row may still refuse some
/// arguments; that is found by decomposing.
bool isSupported(llvm::StringRef operation);

/// Why an operator without a row has none; what the user can do, if anything. Null: PyTorch does not list it either.
std::string explainUnsupported(const aten::Schema *schema);
/// The same by its name, with the operators that may have been meant where PyTorch has none of it.
std::string explainOperator(llvm::StringRef name);
/// The same of an operation, whose importer may have said why.
std::string explainOperator(mlir::Operation *op);
/// "aten.mystery.default"; of an ONNX model's node that stands for itself "com.example::Scale", as callers know it.
std::string nameOperator(mlir::Operation *op);

/// The types of what `op` computes, whatever shapes its results are said to have; an error says why the row refuses the
/// operands and arguments, or that the shapes do not follow from them.
llvm::Expected<llvm::SmallVector<mlir::Type>> findResultTypes(mlir::Operation *op);
/// The same where the shapes of the results are a proposal that the row may take.
llvm::Expected<llvm::SmallVector<mlir::Type>> findResultTypesNear(mlir::Operation *op);

} // namespace ptc
