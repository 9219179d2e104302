//===- FunctionPass.h - a pass that treats each function by itself --------===//
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <utility>

namespace ptc {

/// `Dialects` are those whose operations the pass makes, where the module may have none of them yet.
template <typename... Dialects>
class FunctionPass : public mlir::PassWrapper<FunctionPass<Dialects...>, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FunctionPass)

  using Run = std::function<llvm::LogicalResult(mlir::func::FuncOp)>;

  FunctionPass(llvm::StringLiteral name, llvm::StringLiteral description, Run treat)
      : name(name), description(description), treat(std::move(treat)) {}

  llvm::StringRef getArgument() const final { return name; }
  llvm::StringRef getDescription() const final { return description; }
  void getDependentDialects(mlir::DialectRegistry &registry) const final { (registry.insert<Dialects>(), ...); }

  void runOnOperation() final {
    for (auto function : this->getOperation().template getOps<mlir::func::FuncOp>())
      if (!function.isExternal() && failed(treat(function)))
        return this->signalPassFailure();
  }

private:
  llvm::StringLiteral name, description;
  Run treat;
};

/// Runs `treat` on every function that has a body. `name` and `description` are ptc-opt's.
template <typename... Dialects>
std::unique_ptr<mlir::Pass> makeFunctionPass(llvm::StringLiteral name, llvm::StringLiteral description,
                                             typename FunctionPass<Dialects...>::Run treat) {
  return std::make_unique<FunctionPass<Dialects...>>(name, description, std::move(treat));
}

/// Erases what nobody reads and what has no effect, of a function of one block.
inline void eraseDead(mlir::func::FuncOp function) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

} // namespace ptc
