#include "compiler/Pipeline.h"

#include "compiler/PassTrace.h"
#include "compiler/graph/Functionalize.h"
#include "compiler/import/Weights.h"
#include "dialects/aten/AtenDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace ptc {

namespace {
struct Pipe {
  WeightStore &weights;
  const Options &options;
};

struct Step {
  Stage stage;
  std::unique_ptr<Pass> (*create)(Pipe &);
};
} // namespace

/// Every pass in order, with what holds after it.
static constexpr Step kSteps[] = {
    // No operation writes to its operands; views are values.
    {Stage::Aten, [](Pipe &) { return createFunctionalizePass(); }},
};

void registerDialects(DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect>();
}

void registerPasses() {
  static WeightStore weights;
  static Options options;
  for (const Step &step : kSteps)
    registerPass([&step] {
      Pipe pipe{weights, options};
      return step.create(pipe);
    });
}

LogicalResult lower(ModuleOp module, WeightStore &weights, Stage to, const Options &options) {
  Pipe pipe{weights, options};
  int dumped = 0;
  for (Stage stage = detectStage(module); stage <= to; stage = static_cast<Stage>(static_cast<int>(stage) + 1)) {
    PassManager manager(module.getContext());
    manager.enableVerifier(options.verifyEach);
    tracePasses(manager, options, dumped);
    for (const Step &step : kSteps)
      if (step.stage == stage)
        manager.addPass(step.create(pipe));
    if (failed(manager.run(module)) || failed(verifyStage(module, stage)))
      return failure();
  }
  return success();
}

} // namespace ptc
