//===- Backend.h - loop => code -------------------------------------------===//
#pragma once

#include "compiler/Options.h"

#include "llvm/Support/Error.h"

namespace mlir {
class ModuleOp;
}

namespace ptc {

class Cache;
class Times;
class WeightStore;
namespace cpu {
struct Target;
}

/// Before: a module at the end of stage Loop.
/// After:  options.output is what options.emit names (llvm, asm, obj or so),
///         whole or not at all. Kernels are looked for in the cache (null: none).
llvm::Error emitCode(mlir::ModuleOp module, const WeightStore &weights, const cpu::Target &target,
                     const Options &options, const Cache *cache, Times &times);

} // namespace ptc
