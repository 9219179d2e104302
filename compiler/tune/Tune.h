//===- Tune.h - kernels as measuring has them ------------------------------===//
//
// Coordinate descent over the knobs of all kernels at once: a candidate is a
// whole library in which each kernel that has a knob has it turned to the same
// value. It is called in turns with the best library so far, on the model's own
// data flow and with its caches as they will be, and each kernel keeps the value
// that it was faster with. In the end the result is called in turns with what
// the rules alone make; where it is not faster the rules stand.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Target.h"
#include "compiler/tune/Measure.h"
#include "compiler/tune/TuningFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace ptc {

class Times;

/// Sets the attributes of the module's kernels by the file's entries; kernels without one are left to the rules. Adds
/// the keys of entries that a kernel has to `found`.
void applyTuning(mlir::ModuleOp module, const Target &target, const TuningFile &file, llvm::StringSet<> &found);

/// Makes a library of a module at the end of stage Loop, less what is done for a target.
using LibraryBuilder = llvm::function_ref<llvm::Error(mlir::ModuleOp module, llvm::StringRef path)>;

/// Measures the module's kernels that are not in `file` and adds them to it. `module` is not changed; candidates are
/// files in `folder`, a folder of this call alone.
llvm::Error tune(mlir::ModuleOp module, const Target &target, llvm::StringRef folder, LibraryBuilder build,
                 const Measurer &measure, Times &times, TuningFile &file);

} // namespace ptc
