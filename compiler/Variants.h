//===- Variants.h - a model at the end of stage Loop, for each target ------===//
#pragma once

#include "compiler/Pipeline.h"
#include "compiler/Targets.h"

#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <memory>
#include <vector>

namespace ptc {

class Diagnostics;
class TuningSession;

/// For one target.
struct Variant {
  const Target *target;
  mlir::ModuleOp module;                                    ///< targets with one loopKey share it
  std::unique_ptr<mlir::OwningOpRef<mlir::ModuleOp>> owned; ///< null: somebody else's
};

/// Takes a module to the end of stage Loop for each target. With one target its variant is `module` itself, else there
/// are copies. `session` (null: rules decide) says how kernels are tuned; `planMemory`, between stages Prims and Loop,
/// what a step of training saves (MemoryPlan.h).
llvm::LogicalResult lowerForTargets(Pipeline &pipeline, mlir::ModuleOp module, const Targets &targets,
                                    llvm::function_ref<llvm::LogicalResult()> planMemory, TuningSession *session,
                                    Diagnostics &diagnostics, std::vector<Variant> &variants);

} // namespace ptc
