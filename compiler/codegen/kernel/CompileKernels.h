//===- CompileKernels.h - the kernels of a module, on all cores -----------===//
//
// Each kernel becomes a file of its own, so that it may be found again alone, and so that the files do not depend on
// how many threads there are.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "compiler/codegen/KernelCode.h"
#include "dialects/loop/Loop.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <memory>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace ptc {
class Cache;
}

namespace ptc::kernel {

/// A kernel to compile: the first of those that are alike.
struct Unit {
  loop::KernelOp kernel;
  std::string symbol; ///< of its function, or of its first function where it has several
  std::string key;    ///< stands for all that decides its code, but for ptc itself
};

/// What decides the code of every kernel: the machine, by its description, and the module's symbols.
std::string describeSurroundings(mlir::ModuleOp module, llvm::StringRef machine);

/// `content`: loop::getContent(kernel).
Unit makeUnit(loop::KernelOp kernel, llvm::StringRef content, llvm::StringRef surroundings);

/// Units with a plan each.
template <typename Plan> struct PlannedUnits {
  std::vector<Unit> units;
  std::vector<Plan> plans;
};

/// Plans the kernels of a module once where they differ only in name and locations. `makePlan` takes a kernel and
/// answers Expected<Plan>; `visit` takes every kernel, with its unit and the unit's plan. Fails with the first plan
/// that does.
template <typename Plan, typename MakePlan, typename Visit>
llvm::Expected<PlannedUnits<Plan>> planUnits(mlir::ModuleOp module, llvm::StringRef machine, MakePlan makePlan,
                                             Visit visit) {
  PlannedUnits<Plan> planned;
  llvm::StringMap<size_t> known;
  std::string surroundings = describeSurroundings(module, machine);
  llvm::Error error = llvm::Error::success();
  module->walk([&](loop::KernelOp kernel) {
    auto [entry, isNew] = known.try_emplace(loop::getContent(kernel), planned.units.size());
    if (isNew) {
      llvm::Expected<Plan> plan = makePlan(kernel);
      if (!plan) {
        error = joinErrors(std::move(error), plan.takeError());
        return mlir::WalkResult::interrupt();
      }
      planned.units.push_back(makeUnit(kernel, entry->first(), surroundings));
      planned.plans.push_back(std::move(*plan));
    }
    visit(kernel, planned.units[entry->second], planned.plans[entry->second]);
    return mlir::WalkResult::skip();
  });
  if (error)
    return error;
  return planned;
}

/// A device's part of the work.
struct UnitCompiler {
  std::function<std::unique_ptr<llvm::TargetMachine>()> createMachine; ///< for each thread
  /// Adds the functions of the unit of this number. It may make expressions in MLIR's context, which is not for several
  /// threads: one calls it at a time.
  std::function<void(llvm::Module &module, size_t unit)> emit;
  std::function<llvm::Expected<llvm::SmallVector<char, 0>>(llvm::Module &, llvm::TargetMachine &)> write;
};

/// A file for each unit and what it cost, in `code.files` and `code.times`: from the cache (null: none), or compiled
/// and stored there. Fails with the error of the first unit whose `write` failed.
llvm::Error compileUnits(llvm::ArrayRef<Unit> units, const UnitCompiler &compiler, const Cache *cache, ShowKernel show,
                         KernelCode &code);

} // namespace ptc::kernel
