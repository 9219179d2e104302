#include "compiler/MemoryPlan.h"

#include "compiler/codegen/BuildProgram.h"
#include "compiler/codegen/host/Host.h"
#include "compiler/support/Format.h"
#include "compiler/support/Times.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/loop/Loop.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

#include <algorithm>

using namespace mlir;

namespace ptc {

llvm::Expected<std::vector<host::ProgramSpec>> buildWithoutCode(ModuleOp module, const Target &target,
                                                                llvm::StringRef model) {
  KernelCode noCode;
  AffineExpr zero = getAffineConstantExpr(0, module.getContext()), one = getAffineConstantExpr(1, module.getContext());
  module.walk([&](loop::KernelOp kernel) { noCode.kernels[kernel] = {kernel.getName().str(), one, zero, {}, {}, {}}; });
  return buildPrograms(module, noCode, target, model);
}

namespace {

/// A budget (nothing: all is saved that is read) and what the program takes for intermediate tensors with it.
struct Plan {
  std::optional<double> budget;
  int64_t peak;
};

class Planner {
public:
  Planner(WeightStore &weights, ModuleOp module, const Target &target, const Options &options, Times &times)
      : module(module), target(target), quiet(makeQuiet(options)),
        pipeline(weights, quiet, target.multipliesBytes, times) {}

  LogicalResult add(std::optional<double> budget);
  LogicalResult keepLimit(const Training &training);
  LogicalResult keepBudget(double budget);
  void describe();

  std::vector<Plan> plans;
  std::optional<double> chosen;

private:
  /// Plans leave no files.
  static Options makeQuiet(Options options) {
    options.saveTemps = false;
    options.dumpDir.clear();
    return options;
  }

  ModuleOp module;
  const Target &target;
  Options quiet;
  Pipeline pipeline;
};

} // namespace

static constexpr double kMiB = 1 << 20;

/// The largest sizes that a call may bring; of those without a bound, some that it may well bring.
static SmallVector<int64_t> getLargest(ArrayRef<Symbol> symbols) {
  constexpr int64_t kTypical = 64;
  SmallVector<int64_t> sizes;
  for (const Symbol &symbol : symbols)
    sizes.push_back(symbol.max == Symbol::kUnbounded ? std::max(symbol.min, kTypical) : symbol.max);
  evaluateExtrema(symbols, sizes);
  return sizes;
}

LogicalResult Planner::add(std::optional<double> budget) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(pipeline.rematerialise(*copy, budget)) || failed(pipeline.lowerForDevice(*copy, target.device)) ||
      failed(pipeline.lowerForTarget(*copy, target)))
    return failure();
  llvm::Expected<std::vector<host::ProgramSpec>> programs = buildWithoutCode(*copy, target, "plan");
  if (!programs)
    return module.emitError() << llvm::toString(programs.takeError());
  int64_t peak = 0;
  for (const host::ProgramSpec &program : *programs)
    peak = std::max(peak, host::planArena(program, getLargest(program.symbols)).bytes);
  plans.push_back({budget, peak});
  return success();
}

/// The largest budget that keeps the limit; peaks need not fall with budgets, so that none is left out.
LogicalResult Planner::keepLimit(const Training &training) {
  static constexpr std::optional<double> kBudgets[] = {std::nullopt, 1.0, 0.75, 0.5, 0.25, 0.0};
  for (std::optional<double> budget : kBudgets) {
    if (budget.value_or(2) > training.memoryBudget.value_or(2))
      continue;
    if (failed(add(budget)))
      return failure();
    chosen = budget;
    if (plans.back().peak <= training.memoryLimit)
      return success();
  }
  int64_t least = INT64_MAX;
  for (const Plan &plan : plans)
    least = std::min(least, plan.peak);
  auto diagnostic = emitError(UnknownLoc::get(module.getContext()))
                    << "intermediate tensors take at least " << least
                    << fmt::format(" bytes ({:.1f} MiB)", least / kMiB) << ", and " << training.memoryLimit
                    << " are the limit";
  diagnostic.attachNote() << "--memory-limit " << least << " can be kept; a smaller batch needs less";
  return failure();
}

/// What repeats more may need more at once: then less is repeated than the budget would have it.
LogicalResult Planner::keepBudget(double budget) {
  constexpr double kGain = 0.99; // of memory, that more time is worth
  std::optional<Plan> best;
  for (double one : {1.0, (1 + budget) / 2, budget}) {
    if (failed(add(one)))
      return failure();
    if (!best || plans.back().peak < kGain * best->peak)
      best = plans.back();
    if (budget == 1)
      break;
  }
  chosen = best->budget;
  return success();
}

void Planner::describe() {
  Builder b(module.getContext());
  SmallVector<Attribute> entries;
  for (const Plan &plan : plans) {
    NamedAttrList entry;
    if (plan.budget)
      entry.append("budget", b.getF64FloatAttr(*plan.budget));
    entry.append("peak", b.getI64IntegerAttr(plan.peak));
    entries.push_back(entry.getDictionary(b.getContext()));
  }
  module->setAttr("ptc.memory_plans", b.getArrayAttr(entries));
  if (chosen)
    module->setAttr("ptc.memory_budget", b.getF64FloatAttr(*chosen));
}

LogicalResult planMemory(WeightStore &weights, ModuleOp module, const Target &target, const Options &options,
                         Times &times, Pipeline &pipeline, bool isForReport) {
  if (!options.train.isOn)
    return success();
  Planner planner(weights, module, target, options, times);
  if (options.train.memoryLimit) {
    if (failed(planner.keepLimit(options.train)))
      return failure();
  } else if (options.train.memoryBudget) {
    if (failed(planner.keepBudget(*options.train.memoryBudget)))
      return failure();
  }
  std::optional<double> chosen = planner.chosen;
  if (isForReport) {
    for (double budget : {1.0, 0.75, 0.5, 0.25, 0.0})
      if (llvm::none_of(planner.plans, [&](const Plan &plan) { return plan.budget == budget; }) &&
          failed(planner.add(budget)))
        return failure();
    planner.describe();
  }
  return pipeline.rematerialise(module, chosen);
}

} // namespace ptc
