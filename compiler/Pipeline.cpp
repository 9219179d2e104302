#include "compiler/Pipeline.h"

#include "compiler/PassTrace.h"
#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/ChainKernels.h"
#include "compiler/codegen/cpu/pack/FoldScales.h"
#include "compiler/codegen/cpu/pack/PackWeights.h"
#include "compiler/codegen/cpu/pack/SplitLongProducts.h"
#include "compiler/graph/Autocast.h"
#include "compiler/graph/ChooseLayout.h"
#include "compiler/graph/Decompose.h"
#include "compiler/graph/FoldBatchNorm.h"
#include "compiler/graph/FoldConstants.h"
#include "compiler/graph/Functionalize.h"
#include "compiler/graph/LowerComplex.h"
#include "compiler/graph/LowerFloat8.h"
#include "compiler/graph/LowerTransposedConvolution.h"
#include "compiler/graph/MergeBranches.h"
#include "compiler/graph/OutlineControlFlow.h"
#include "compiler/graph/Patterns.h"
#include "compiler/graph/Quantize.h"
#include "compiler/graph/Simplify.h"
#include "compiler/schedule/Fuse.h"
#include "compiler/schedule/PlanMemory.h"
#include "compiler/schedule/SettleSizes.h"
#include "compiler/schedule/ToLoop.h"
#include "compiler/support/OutputFile.h"
#include "compiler/support/Times.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/control/Control.h"
#include "dialects/loop/Loop.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace ptc {

namespace {
struct Pipe {
  WeightStore &weights;
  const Options &options;
  const cpu::Target *target = nullptr; ///< for steps that need one
};

struct Step {
  Stage stage;
  std::unique_ptr<Pass> (*create)(Pipe &);
  bool isForTarget = false; ///< and with it all that follow
  bool (*isWanted)(const Options &) = nullptr; ///< null: always
};
} // namespace

static bool isOptimized(const Options &options) { return options.opt > 0; }

/// Every pass in order, with what holds after it.
static constexpr Step kSteps[] = {
    // Graphs that operators take are functions.
    {Stage::Aten, [](Pipe &) { return createOutlineControlFlowPass(); }},
    // No operation writes to its operands; views are values.
    {Stage::Aten, [](Pipe &) { return createFunctionalizePass(); }},
    // What a model spells out is the operator that it means.
    {Stage::Aten, [](Pipe &) { return createPatternsPass(); }, false, isOptimized},
    // Products take bfloat16, as torch.autocast would have it.
    {Stage::Aten, [](Pipe &) { return createAutocastPass(); }, false, [](const Options &o) { return o.amp; }},

    // Every operation is a prim, or the caller's; no broadcasting, promotion or scalar arguments.
    {Stage::Prims, [](Pipe &p) { return createDecomposePass(p.weights, p.options.fallback); }},
    // Complex numbers are pairs of real ones.
    {Stage::Prims, [](Pipe &) { return createLowerComplexPass(); }},
    // Eight-bit floats are bytes.
    {Stage::Prims, [](Pipe &) { return createLowerFloat8Pass(); }},
    // The same values by fewer operations; shape changes stand apart from arithmetic.
    {Stage::Prims, [](Pipe &) { return createSimplifyPass(); }},
    // Scales of output channels are in the weights.
    {Stage::Prims, [](Pipe &) { return createFoldBatchNormPass(); }, false, isOptimized},
    // A sum of convolutions of one tensor is one.
    {Stage::Prims, [](Pipe &) { return createMergeBranchesPass(); }, false, isOptimized},
    // Convolutions have channels last; transposes stand only where the model begins and ends.
    {Stage::Prims, [](Pipe &) { return createChooseLayoutPass(); }},
    // No convolution multiplies zeros between its input's elements.
    {Stage::Prims, [](Pipe &) { return createLowerTransposedConvolutionPass(); }},
    // Again: transposes that met have made room.
    {Stage::Prims, [](Pipe &) { return createSimplifyPass(); }},
    // What weights alone decide is a weight.
    {Stage::Prims, [](Pipe &p) { return createFoldConstantsPass(p.weights); }},
    // Weights of linear layers are int8.
    {Stage::Prims, [](Pipe &p) { return createQuantizePass(p.weights, p.options.quantization); }, false,
     [](const Options &o) { return o.quantization != Quantization::None; }},

    // Every operation is a loop over a domain with a scalar body; views are maps.
    {Stage::Loop, [](Pipe &p) { return createToLoopPass(p.weights); }},
    // What computes a size that data decide stands before all that has it.
    {Stage::Loop, [](Pipe &) { return createSettleSizesPass(); }},
    // Every operation is in one kernel; views are gone, maps are epilogues or parts of their readers.
    {Stage::Loop, [](Pipe &p) { return createFusePass(!isOptimized(p.options)); }},
    // Rows of a product for the matrix unit fit L2.
    {Stage::Loop, [](Pipe &p) { return cpu::createSplitLongProductsPass(*p.target); }, true, isOptimized},
    // Constant right-hand sides of contractions and convolutions lie in panels of a register tile.
    {Stage::Loop,
     [](Pipe &p) {
       return cpu::createPackWeightsPass(p.weights, *p.target, p.options.winograd && isOptimized(p.options));
     },
     true},
    // What only scales the rows of a product is a part of it.
    {Stage::Loop, [](Pipe &) { return cpu::createFoldScalesPass(); }, true, isOptimized},
    // What a convolution of narrow groups reads is multiplied in its kernel.
    {Stage::Loop, [](Pipe &) { return cpu::createChainKernelsPass(); }, true, isOptimized},
    // Results take the memory of operands that nobody needs afterwards.
    {Stage::Loop, [](Pipe &) { return createPlanMemoryPass(); }, true},
};

void registerDialects(DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, prims::PrimsDialect, loop::LoopDialect, control::ControlDialect,
                  arith::ArithDialect, func::FuncDialect, math::MathDialect>();
}

void registerPasses() {
  static WeightStore weights;
  static const Options options;
  static const cpu::Target target = llvm::cantFail(cpu::getTarget("x86-64-v3"));
  for (const Step &step : kSteps)
    registerPass([&step] {
      Pipe pipe{weights, options, &target};
      return step.create(pipe);
    });
}

llvm::Error writeIr(ModuleOp module, llvm::StringRef path) {
  return writeOutputFile(path, [&](llvm::raw_ostream &out) {
    module->print(out, OpPrintingFlags().enableDebugInfo(/*enable=*/true, /*prettyForm=*/false));
    out << '\n';
  });
}

static LogicalResult saveIr(ModuleOp module, Stage stage, const Options &options) {
  if (!options.saveTemps || stage >= options.emit)
    return success();
  llvm::Error error = writeIr(module, getTempPath(options.output, stage));
  return error ? LogicalResult(module.emitError(llvm::toString(std::move(error)))) : success();
}

namespace {
/// The passes of one compilation.
class Pipeline {
public:
  Pipeline(WeightStore &weights, const Options &options, Times &times)
      : pipe{weights, options}, options(options), times(times) {}

  /// To the end of stage `to`, but for what needs a target.
  LogicalResult lowerForAll(ModuleOp module, Stage to);
  /// The rest of stage Loop.
  LogicalResult lowerForTarget(ModuleOp module, const cpu::Target &target);

private:
  LogicalResult run(ModuleOp module, Stage stage, bool isForTarget);

  Pipe pipe;
  const Options &options;
  Times &times;
  int dumped = 0;
};
} // namespace

LogicalResult Pipeline::run(ModuleOp module, Stage stage, bool isForTarget) {
  Times::Span span(times, ("stage " + getName(stage)).str() + (isForTarget ? ", for the target" : ""));
  PassManager manager(module.getContext());
  manager.enableVerifier(options.verifyEach);
  tracePasses(manager, options, times, dumped);
  for (const Step &step : kSteps)
    if (step.stage == stage && step.isForTarget == isForTarget && (!step.isWanted || step.isWanted(options)))
      manager.addPass(step.create(pipe));
  return manager.run(module);
}

LogicalResult Pipeline::lowerForAll(ModuleOp module, Stage to) {
  for (Stage stage = detectStage(module); stage <= to; stage = static_cast<Stage>(static_cast<int>(stage) + 1)) {
    if (failed(run(module, stage, false)))
      return failure();
    if (stage < Stage::Loop && (failed(verifyStage(module, stage)) || failed(saveIr(module, stage, options))))
      return failure();
  }
  return success();
}

LogicalResult Pipeline::lowerForTarget(ModuleOp module, const cpu::Target &target) {
  pipe.target = &target;
  return failure(failed(run(module, Stage::Loop, true)) || failed(verifyStage(module, Stage::Loop)) ||
                 failed(saveIr(module, Stage::Loop, options)));
}

LogicalResult lower(ModuleOp module, WeightStore &weights, Stage to, const cpu::Target &target,
                    const Options &options) {
  Times times;
  Pipeline pipeline(weights, options, times);
  if (failed(pipeline.lowerForAll(module, to)))
    return failure();
  return to < Stage::Loop ? success() : pipeline.lowerForTarget(module, target);
}

LogicalResult lowerForTargets(ModuleOp module, WeightStore &weights, Stage to, llvm::ArrayRef<cpu::Target> targets,
                              const Options &options, Times &times, Tune tune, std::vector<Variant> &variants) {
  Pipeline pipeline(weights, options, times);
  if (failed(pipeline.lowerForAll(module, to)))
    return failure();
  if (to < Stage::Loop)
    return success();
  for (const cpu::Target &target : targets) {
    auto isAlike = [&](const Variant &v) { return !tune && cpu::packAlike(v.target, target); };
    auto alike = llvm::find_if(variants, isAlike);
    if (alike != variants.end()) {
      variants.push_back({target, alike->module, nullptr});
      continue;
    }
    if (targets.size() == 1) {
      variants.push_back({target, module, nullptr});
    } else {
      auto owned = std::make_unique<OwningOpRef<ModuleOp>>(module.clone());
      variants.push_back({target, **owned, std::move(owned)});
    }
    auto lower = [&](ModuleOp module) { return pipeline.lowerForTarget(module, target); };
    if ((tune && failed(tune(variants.back().module, target, lower))) || failed(lower(variants.back().module)))
      return failure();
  }
  return success();
}

} // namespace ptc
