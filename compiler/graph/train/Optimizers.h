//===- Optimizers.h - the table of optimizers: a row each -----------------===//
//
// A row says in the language of decompositions how a parameter follows from its
// gradient: PyTorch's single-tensor form (torch/optim/NAME.py of 2.11,
// _single_tensor_NAME), operation by operation and in that order. What Python
// computes with its numbers is computed in f64, and rounded to the parameter's
// type where it meets a tensor.
//
// A row makes the states that it asks for. Hyperparameters (`optimizer.lr`) are
// states without dimensions, so that they are set without compiling again.
// Options that decide which states there are hold as they were compiled: all
// flags, and whether momentum is 0.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"
#include "compiler/graph/train/OptionText.h"
#include "compiler/graph/train/Settings.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <vector>

namespace ptc::train {

using decompose::B;
using decompose::T;

class Update;

struct Optimizer {
  llvm::StringLiteral name;
  std::vector<Number> numbers;            ///< with PyTorch's defaults
  std::vector<llvm::StringLiteral> flags; ///< without `maximize`, which all have; off unless given
  /// The parameter's next value; nothing where the builder says that the options contradict each other.
  T (*update)(Update &u);
};

/// In the order in which messages list them.
llvm::ArrayRef<Optimizer> optimizers();

/// One parameter in one step, as a row sees it. Its tensors are real, have dimensions and are of the parameter's type,
/// f32 or f64; numbers are 0-d tensors of f64.
class Update {
public:
  Update(B &b, const Settings &settings, T weight, T gradient, T step)
      : b(b), settings(settings), weight(weight), gradient(gradient), step(step) {}
  virtual ~Update() = default;

  /// What a hyperparameter is in this step; the learning rate with its schedule.
  virtual T number(llvm::StringRef name) = 0;
  /// What the parameter has kept under this name; before the first step, `first` in every element.
  virtual T moment(llvm::StringRef name, double first = 0) = 0;
  virtual void keep(llvm::StringRef name, T value) = 0;
  /// The same for a number of f32 that all parameters of a group share: what one keeps, all do.
  virtual T shared(llvm::StringRef name, double first) = 0;
  virtual void keepShared(llvm::StringRef name, T value) = 0;

  B &b;
  const Settings &settings;
  T weight, gradient;
  T step; ///< 1 in the first step; i64
};

/// torch.lerp, which chooses of two formulas by the weight as it is rounded to the tensors' type.
T lerp(B &b, T start, T end, T weight);

/// The parameter's next value, by the row that the settings name.
T apply(Update &u);

} // namespace ptc::train
