//===- AtenDialect.h - PyTorch's operators as an open MLIR dialect --------===//
//
// The operators are rows of schema.txt, registered when the dialect is loaded;
// an operator that no row describes stays representable (docs/rationale-aten.md).
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/ExtensibleDialect.h"

namespace ptc::aten {

class AtenDialect : public mlir::ExtensibleDialect {
public:
  explicit AtenDialect(mlir::MLIRContext *context);
  static constexpr llvm::StringLiteral getDialectNamespace() { return llvm::StringLiteral("aten"); }

  /// Operators without a schema print and parse in the same form.
  std::optional<ParseOpHook> getParseOperationHook(llvm::StringRef opName) const override;
  llvm::unique_function<void(mlir::Operation *, mlir::OpAsmPrinter &)>
  getOperationPrinter(mlir::Operation *op) const override;

  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AtenDialect)
};

} // namespace ptc::aten
