//===- LeaveToCaller.h - an operator that ptc does not compile --------------===//
//
// aten.custom.mylib.scale.default %x {arg0 = 0 : index, arg1 = 2.0 : f64}  =>
// control.external "mylib::scale.default" "{\"args\":[{\"tensor\":0},2.0],\"kwargs\":{}}"(%x)
//
// docs/fallback.md says what the text is. Numbers that follow from sizes are
// further inputs.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/graph/decompose/Builder.h"

#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

namespace ptc {

/// Why `op`, an aten operation that is not compiled, cannot be left to the caller; empty where it can.
std::string whyNotLeft(mlir::Operation *op, const decompose::Scope &scope);

/// Creates the call of a function of the caller's that stands for `op`, an aten operation, and gives it the uses of the
/// operation's results. `reason`: why `op` is not compiled. `b` builds at `op`. An error says why it cannot be left to
/// the caller either.
llvm::Error leaveToCaller(mlir::Operation *op, decompose::B &b, const decompose::Scope &scope, llvm::StringRef reason);

} // namespace ptc
