//===- FunctionalizeAliases.h - which values are one memory ---------------===//
//
// Every tensor of the program is a root, which owns its memory, or a view of
// another tensor. The IR's values are names of tensors; several names may mean
// one tensor (`%1 = aten.add_ %0` makes %1 and %0 the same).
//
// A write replaces the root's value, through the inverses of the views between.
// A view that is read after its root was written is replayed on the new value.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

#include <deque>

namespace ptc {

class Aliases {
public:
  /// `result` is another name of the tensor that `name` names.
  void bind(mlir::Value result, mlir::Value name);

  /// The results of `view` are views of the tensor that `name` names. The
  /// operation's first operand must be that tensor's value of now.
  void addView(mlir::Operation *view, mlir::Value name);

  /// As `t_` does: from now on, `name` is this view of what it was.
  void replaceByView(mlir::Operation *view, mlir::Value name);

  /// The value of the tensor now; may create operations at the builder.
  mlir::Value read(mlir::OpBuilder &builder, mlir::Value name);

  /// Gives the tensor a new value, of the same type. Fails with a message at
  /// `loc` when a view cannot be written through.
  llvm::LogicalResult write(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value name, mlir::Value updated);

  /// The tensor that owns the memory of this one, by its first name.
  mlir::Value rootOf(mlir::Value name);

  /// Whether the memory under this tensor was written.
  bool isWritten(mlir::Value name);

private:
  /// A root (no operation), or a view operation applied to a tensor.
  struct Node;
  struct Tensor {
    Node *node = nullptr;
    unsigned result = 0;
  };
  struct Node {
    mlir::Operation *view = nullptr;
    Tensor base;
    Node *root = nullptr;
    llvm::SmallVector<Node *, 2> views;     ///< Directly of this one.
    mlir::Value name;                       ///< Of a root: its first value.
    unsigned version = 0;                   ///< Of a root: number of writes.
    llvm::SmallVector<mlir::Value> current; ///< One a result.
    llvm::SmallVector<unsigned> versions;   ///< The root's version that `current` shows.
  };

  Tensor *find(mlir::Value name);
  Node *makeView(mlir::Operation *view, Tensor base);
  mlir::Value read(mlir::OpBuilder &builder, Tensor tensor);
  void write(mlir::OpBuilder &builder, mlir::Location loc, Tensor tensor, mlir::Value updated);
  llvm::LogicalResult writeByPosition(mlir::OpBuilder &builder, mlir::Location loc, Tensor tensor,
                                      mlir::Value updated);

  std::deque<Node> nodes;     // Stable addresses.
  std::deque<Tensor> tensors; // One a tensor object; several names share one.
  llvm::DenseMap<mlir::Value, Tensor *> names;
};

} // namespace ptc
