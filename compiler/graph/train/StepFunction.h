//===- StepFunction.h - a function, its states and its outputs ------------===//
//
// What is computed stands in front of the function's return. A state is an
// argument; what it is after a call is a result. Its first value joins the
// weights.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace ptc {
class WeightStore;
}

namespace ptc::train {

class StepFunction {
  mlir::func::FuncOp function;
  mlir::Operation *end;
  mlir::Location where; ///< of the return, before its name told of what is built
  mlir::OpBuilder builder;
  decompose::Scope scope;

public:
  StepFunction(mlir::func::FuncOp function, WeightStore &weights);

  decompose::B b; ///< In front of the return.

  /// What is built from here on is named so: kernels are named after what locations name.
  void startPart(llvm::StringRef name);

  /// The state of this name before the call. Who asks first decides its type and first value: `first` in all elements.
  decompose::T state(const llvm::Twine &name, mlir::RankedTensorType type, double first);
  /// The same of numbers, in f64.
  decompose::T state(const llvm::Twine &name, llvm::ArrayRef<double> first);
  /// The same of a state that begins as the weight `like`, of its type.
  decompose::T stateLike(const llvm::Twine &name, llvm::StringRef like, mlir::RankedTensorType type);
  /// A state without dimensions.
  decompose::T number(const llvm::Twine &name, mlir::Type element, double first) {
    return state(name, mlir::RankedTensorType::get({}, element), first);
  }
  /// Makes a state of the weight `name`, which is this argument.
  void makeState(mlir::BlockArgument argument, llvm::StringRef name);

  /// What a state is after the call; who says so first, says it for all. It has been asked for before.
  void write(const llvm::Twine &name, decompose::T value);
  /// From here on, what is written is so where `condition` holds; elsewhere a state stays as it is.
  void writeOnlyIf(decompose::T condition) { commits = condition; }

  /// Of the states asked for, one that the model has as a weight or state of its own; empty where there is none.
  llvm::StringRef getConflict() const { return conflict; }

  /// One more output, behind those that there are.
  void output(llvm::StringRef name, decompose::T value);

private:
  decompose::T addState(const std::string &name, mlir::RankedTensorType type,
                        llvm::function_ref<void(const std::string &name)> addFirst);

  WeightStore &weights;
  llvm::StringSet<> ofModel; ///< names of its weights and states
  std::string conflict;
  llvm::StringMap<mlir::Value> states;
  llvm::StringSet<> written;
  decompose::T commits;
};

/// A complex tensor has two parts, the real and the imaginary one; a real one is its only part.
unsigned countParts(decompose::T x);
decompose::T getPart(decompose::T x, unsigned part);
llvm::SmallVector<decompose::T, 2> partsOf(decompose::T x);
/// The tensor of these parts.
decompose::T joinParts(llvm::ArrayRef<decompose::T> parts);
/// What `make` makes of each part.
decompose::T mapParts(decompose::T x, llvm::function_ref<decompose::T(decompose::T part)> make);

} // namespace ptc::train
