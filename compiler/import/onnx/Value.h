//===- Value.h - what a name of an ONNX graph stands for ----------------------===//
#pragma once

#include "compiler/import/ExportedProgram.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <memory>

namespace ptc::import::onnx {

class Builder;

/// A small tensor whose elements are known while importing: constants, and what a graph computes from sizes.
struct Literal {
  mlir::Type element;
  llvm::SmallVector<int64_t> sizes;
  /// Row-major; numbers, or expressions over the model's symbols.
  std::vector<Expression> elements;
};

/// A tensor of the file. It becomes an argument of the function when it is first used.
struct Stored {
  StoredTensor tensor;
  std::string name;
  mlir::Value argument;
};

/// An initializer that the caller may give another value for, unless a node must know it.
struct Overridable {
  std::string name;
  mlir::Value argument;
  std::string knownTo; ///< the first such node; empty: none
};

/// What a tensor is while the caller leaves these initializers, which it is computed from, as they are.
struct Usual {
  std::shared_ptr<const Literal> literal;
  llvm::SmallVector<Overridable *, 1> of;
};

/// A tensor (known in one or several of these forms), a sequence of tensors, or nothing.
struct Value {
  Builder *b = nullptr;
  mlir::Value tensor;
  std::shared_ptr<const Literal> literal;
  std::shared_ptr<Stored> stored;
  std::shared_ptr<const std::vector<Value>> sequence;
  std::shared_ptr<const Usual> usual; ///< of a tensor without a literal

  explicit operator bool() const { return tensor || literal || stored || sequence; }
  bool isTensor() const { return tensor || literal || stored; }
  /// Bytes that the file knows as integers of less than eight bits.
  bool isNarrow() const {
    return stored && stored->tensor.dtype && stored->tensor.dtypeName != toString(*stored->tensor.dtype);
  }
};

/// Literals have at most so many elements.
constexpr int64_t kLargestLiteral = 2048;

} // namespace ptc::import::onnx
