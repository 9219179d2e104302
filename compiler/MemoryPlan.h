//===- MemoryPlan.h - how much a step saves for its backward pass ---------===//
//
// Before: a model at the end of stage Prims, as Pipeline::lowerModel leaves it.
// After:  Rematerialise has run, with the budget that --memory-budget or
//         --memory-limit comes to. What a budget is worth is not estimated: the
//         program of each that comes into question is planned, and the bytes of its
//         intermediate tensors decide. The module's `ptc.memory_plans` says which
//         were planned, and the chosen one's is `ptc.memory_budget`.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/Pipeline.h"
#include "compiler/codegen/host/ProgramSpec.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace ptc {

/// The entries' programs of a module at the end of stage Loop as they would be linked, without generating their code.
llvm::Expected<std::vector<host::ProgramSpec>> buildWithoutCode(mlir::ModuleOp module, const Target &target,
                                                                llvm::StringRef model);

/// Why it failed is in the context's diagnostics: a limit that no plan keeps, say. `isForReport`: also budgets that
/// nobody asked for are planned, so that `ptc explain` can compare.
llvm::LogicalResult planMemory(WeightStore &weights, mlir::ModuleOp module, const Target &target,
                               const Options &options, Times &times, Pipeline &pipeline, bool isForReport);

} // namespace ptc
