//===- Evaluation.h - what a prim sees when it is evaluated ---------------===//
#pragma once

#include "dialects/prims/reference/Tensor.h"

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Operation.h"

namespace ptc::prims {

class Evaluation {
public:
  /// `onElement`: an elementwise prim is asked about one element, 0-d tensors
  /// in place of its operands' shape.
  Evaluation(mlir::Operation *op, llvm::ArrayRef<const Tensor *> operands, llvm::ArrayRef<int64_t> symbols,
             bool onElement = false)
      : op(op), operands(operands), symbols(symbols), results(op->getNumResults()), onElement(onElement) {}

  size_t size() const { return operands.size(); }
  const Tensor &operator[](size_t i) const { return *operands[i]; }

  /// Attributes whose values are sizes, with the symbols' values put in.
  Sizes getSizes(mlir::Attribute attr) const;
  int64_t getSize(mlir::Attribute attr) const;

  /// Zeros of the type that result i has.
  Tensor makeResult(size_t i = 0) const;
  llvm::Error set(Tensor result, size_t i = 0) {
    results[i] = std::move(result);
    return llvm::Error::success();
  }
  std::vector<Tensor> takeResults() { return std::move(results); }

  /// A failure of the call (an index out of range), located at the operation.
  llvm::Error fail(const llvm::Twine &what) const;

private:
  mlir::Operation *op;
  llvm::ArrayRef<const Tensor *> operands;
  llvm::ArrayRef<int64_t> symbols;
  std::vector<Tensor> results;
  bool onElement;
};

} // namespace ptc::prims
