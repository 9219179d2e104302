//===- Bindings.h - which input tells a symbol's value --------------------===//
#pragma once

#include "compiler/codegen/host/ProgramSpec.h"

#include "llvm/Support/Error.h"

namespace ptc::host {

/// size = value * scale + offset, where the size is that of dimension `dim` of input `input`; dim -1: the input's own
/// value. input -1: no expression has the symbol.
struct Binding {
  int64_t input = -1, dim = -1;
  int64_t scale = 1, offset = 0;
};

/// One binding for each symbol; `used` tells the symbols that some expression has.
llvm::Expected<std::vector<Binding>> bindSymbols(const ProgramSpec &spec, llvm::ArrayRef<mlir::AffineExpr> expressions);

} // namespace ptc::host
