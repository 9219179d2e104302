//===- Regions.h - graphs inside graphs, as torch.export has them ---------------===//
#pragma once

#include "compiler/import/onnx/Builder.h"

namespace ptc::import::onnx {

/// An operation with regions, which are built where it stands; `finish` makes the operator of torch.export's of
/// them, with every tensor that they take from around them as an operand.
class RegionBuilder {
public:
  RegionBuilder(Builder &b, llvm::StringRef name, unsigned regions);
  ~RegionBuilder();

  /// Begins region `i`; its arguments have these types.
  Values begin(unsigned i, mlir::TypeRange types);
  /// Ends the region with tensors of these values; their types. Nothing after a failure.
  std::optional<llvm::SmallVector<mlir::Type>> end(const Values &results);

  /// Whether all regions compute nothing.
  bool isEmpty() const;
  llvm::SmallVector<mlir::Value> answers(unsigned i);

  Values finish(llvm::ArrayRef<mlir::Value> operands, mlir::TypeRange results);

private:
  Builder &b;
  llvm::StringRef name;
  mlir::Operation *holder;
};

/// `while (condition(state)) state = body(state)`: tensors that keep their types. Nothing after a failure.
Values buildWhile(Builder &b, const Values &begin, llvm::function_ref<Value(const Values &)> condition,
                  llvm::function_ref<Values(const Values &)> body);

/// `for x in over: states, row = step(states, x)`, where x are slices along the first dimension of tensors of one
/// length; the last states and, for each of the `rows` values that a step answers behind its states, all of them
/// stacked along a first dimension. Nothing after a failure.
Values buildScan(Builder &b, const Values &begin, const Values &over, size_t rows,
                 llvm::function_ref<std::optional<Values>(const Values &)> step);

} // namespace ptc::import::onnx
