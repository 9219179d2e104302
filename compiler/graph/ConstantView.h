//===- ConstantView.h - tensors known when compiling ----------------------===//
//
// Bytes seen through strides, so that transposing, slicing and broadcasting a
// weight costs nothing until its elements are needed.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <vector>

namespace ptc {

struct ConstantView {
  mlir::RankedTensorType type;
  const char *data = nullptr;
  /// In elements.
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;
  /// Of `data`, unless a weight does.
  std::shared_ptr<const std::vector<char>> owner;

  /// Row-major bytes of a tensor.
  static ConstantView ofBytes(mlir::RankedTensorType type, const char *data);
  static ConstantView ofBytes(mlir::RankedTensorType type, std::vector<char> bytes);

  bool isContiguous() const;
  /// The elements in row-major order.
  std::vector<char> materialize() const;
};

/// Drops dimensions of size 1 and joins neighbours that every list of strides
/// walks as one: fewer and longer loops.
void collapseDims(llvm::SmallVectorImpl<int64_t> &shape,
                  llvm::ArrayRef<llvm::SmallVectorImpl<int64_t> *> strides);

/// The results of a prim on constant operands: views of an operand where they
/// are, padding and f32 arithmetic natively, anything else by the reference evaluator.
llvm::Expected<llvm::SmallVector<ConstantView>> evaluateConstant(mlir::Operation *op,
                                                                llvm::ArrayRef<ConstantView> operands);

} // namespace ptc
