#include "compiler/Pipeline.h"

#include "compiler/PassTrace.h"
#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/FoldScales.h"
#include "compiler/codegen/cpu/pack/FuseConvolutions.h"
#include "compiler/codegen/cpu/pack/PackWeights.h"
#include "compiler/codegen/cpu/pack/SplitLongProducts.h"
#include "compiler/graph/Autocast.h"
#include "compiler/graph/CausalMasks.h"
#include "compiler/graph/ChooseLayout.h"
#include "compiler/graph/Decompose.h"
#include "compiler/graph/ExpandRecurrent.h"
#include "compiler/graph/FoldBatchNorm.h"
#include "compiler/graph/FoldConstants.h"
#include "compiler/graph/Functionalize.h"
#include "compiler/graph/IntegerProducts.h"
#include "compiler/graph/LowerComplex.h"
#include "compiler/graph/LowerFloat8.h"
#include "compiler/graph/LowerPatchConvolution.h"
#include "compiler/graph/LowerTransposedConvolution.h"
#include "compiler/graph/MergeBranches.h"
#include "compiler/graph/MergeProducts.h"
#include "compiler/graph/OutlineControlFlow.h"
#include "compiler/graph/Patterns.h"
#include "compiler/graph/Quantize.h"
#include "compiler/graph/Simplify.h"
#include "compiler/graph/train/AddEval.h"
#include "compiler/graph/train/AddLoss.h"
#include "compiler/graph/train/BuildGradients.h"
#include "compiler/graph/train/BuildStep.h"
#include "compiler/graph/train/Rematerialise.h"
#include "compiler/graph/train/SetMode.h"
#include "compiler/schedule/CommitStates.h"
#include "compiler/schedule/Fuse.h"
#include "compiler/schedule/HoistSizes.h"
#include "compiler/schedule/Limits.h"
#include "compiler/schedule/OrderKernels.h"
#include "compiler/schedule/PlanMemory.h"
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

#include <optional>

using namespace mlir;

namespace ptc {

namespace {
struct Pipe {
  WeightStore &weights;
  const Options &options;
  schedule::Limits limits;
  bool multipliesBytes;
  const Target *target;               ///< in Scope::Target
  std::optional<double> memoryBudget; ///< in Scope::Memory

  const cpu::Target &cpu() const { return static_cast<const cpu::Target &>(*target); }
};

struct Step {
  Stage stage;
  Scope scope;
  std::optional<Device> device; ///< nothing: every one
  std::unique_ptr<Pass> (*create)(Pipe &);
  bool (*isWanted)(const Options &) = nullptr; ///< null: always
};

constexpr std::optional<Device> kEvery;
} // namespace

static bool isOptimized(const Options &options) { return options.opt > 0; }

static bool isOptimizedForGpu(const Options &options) { return isOptimized(options) && options.device == Device::Cuda; }

static bool isTraining(const Options &options) { return options.train.isOn; }
/// Whether the library is a step of an optimizer; or the gradients of what it was given cotangents of.
static bool isStep(const Options &options) { return options.train.isOn && !options.train.optimizer.empty(); }
static bool isGradients(const Options &options) { return options.train.isOn && options.train.optimizer.empty(); }

/// Every pass in order, with what holds after it.
static constexpr Step kSteps[] = {
    // The model as it is stands beside the step of training.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createAddEvalPass(); }, isStep},
    // Of the step, dropout drops, and batch norm has the batch's statistics.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createSetModePass(); },
     [](const Options &o) { return isStep(o) && !o.train.keepMode; }},
    // One result is the loss.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &p) { return createAddLossPass(p.options.train.loss); }, isStep},
    // Recurrent networks of many steps are scans.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createExpandRecurrentPass(); }},
    // Graphs that operators take are functions.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createOutlineControlFlowPass(); }},
    // No operation writes to its operands; views are values.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createFunctionalizePass(); }},
    // Attention that a model composes of products and softmax is one operator.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &) { return createPatternsPass(); }, isOptimized},
    // Products take bfloat16 or float16, as torch.autocast would have it.
    {Stage::Aten, Scope::Model, kEvery, [](Pipe &p) { return createAutocastPass(p.options.device, p.options.amp); },
     [](const Options &o) { return o.amp != Amp::None; }},

    // Every operation is a prim, or the caller's; no broadcasting, promotion or scalar arguments.
    {Stage::Prims, Scope::Model, kEvery,
     [](Pipe &p) {
       return createDecomposePass(p.weights, p.options.fallback, p.options.train.isOn,
                                  /*attentionGradient=*/p.options.device == Device::Cpu);
     }},
    // Gradients of inputs and parameters are outputs; cotangents of outputs are inputs.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createBuildGradientsPass(); }, isGradients},
    // Parameters are states, which the gradients of the loss update as the optimizer has it.
    {Stage::Prims, Scope::Model, kEvery,
     [](Pipe &p) { return createBuildStepPass(p.weights, p.options.train, p.options.amp); }, isStep},
    // Complex numbers are pairs of real ones.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createLowerComplexPass(); }},
    // Eight-bit floats are bytes.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createLowerFloat8Pass(); }},
    // The same values by fewer operations; shape changes stand apart from arithmetic.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createSimplifyPass(); }},
    // Scales of output channels are in the weights.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createFoldBatchNormPass(); }, isOptimized},
    // Parallel convolution branches on one input that are summed are one convolution (RepVGG).
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createMergeBranchesPass(); }, isOptimized},
    // Convolutions have channels last; transposes stand only where the model begins and ends.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createChooseLayoutPass(); }},
    // No convolution multiplies zeros between its input's elements.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createLowerTransposedConvolutionPass(); }},
    // A GPU's convolutions that read no pixel twice are products.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createLowerPatchConvolutionPass(); }, isOptimizedForGpu},
    // Again: transposes that cancelled each other have left operations that simplify.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createSimplifyPass(); }},
    // Products of quantized tensors are of bytes.
    {Stage::Prims, Scope::Model, kEvery,
     [](Pipe &p) { return createIntegerProductsPass(p.weights, {p.multipliesBytes, p.options.device == Device::Cpu}); },
     isOptimized},
    // Attention whose mask is known to be a triangle is causal.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &p) { return createCausalMasksPass(p.weights); }, isOptimized},
    // On a GPU a tensor is multiplied by several weights at once.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &) { return createMergeProductsPass(); }, isOptimizedForGpu},
    // Operations on weights alone are evaluated: their results are weights.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &p) { return createFoldConstantsPass(p.weights); }},
    // Weights of linear layers are int8.
    {Stage::Prims, Scope::Model, kEvery, [](Pipe &p) { return createQuantizePass(p.weights, p.options.quantization); },
     [](const Options &o) { return o.quantization != Quantization::None; }},
    // Values of the forward pass are computed again in the backward pass, as far as the memory's budget has it.
    {Stage::Prims, Scope::Memory, kEvery, [](Pipe &p) { return createRematerialisePass(p.memoryBudget); }, isTraining},

    // Every operation is a loop over a domain with a scalar body; views are maps.
    {Stage::Loop, Scope::Device, kEvery, [](Pipe &p) { return createToLoopPass(p.weights, p.limits); }},
    // Definitions of data-dependent symbols dominate their uses.
    {Stage::Loop, Scope::Device, kEvery, [](Pipe &) { return createHoistSizesPass(); }},
    // Every operation is in one kernel; views are gone, maps are epilogues or parts of their readers.
    {Stage::Loop, Scope::Device, kEvery, [](Pipe &p) { return createFusePass(p.limits, !isOptimized(p.options)); }},
    // A GEMM for the matrix unit whose rows do not fit L2 is split along k.
    {Stage::Loop, Scope::Target, Device::Cpu, [](Pipe &p) { return cpu::createSplitLongProductsPass(p.cpu()); },
     isOptimized},
    // Constant right-hand sides of contractions and convolutions lie in panels of a register tile.
    {Stage::Loop, Scope::Target, Device::Cpu,
     [](Pipe &p) {
       return cpu::createPackWeightsPass(p.weights, p.cpu(), p.options.winograd && isOptimized(p.options));
     }},
    // A scaling of lhs along k is folded into the GEMM.
    {Stage::Loop, Scope::Target, Device::Cpu, [](Pipe &) { return cpu::createFoldScalesPass(); }, isOptimized},
    // A pointwise convolution and the grouped one that alone reads it are one kernel (row bands).
    {Stage::Loop, Scope::Target, Device::Cpu, [](Pipe &) { return cpu::createFuseConvolutionsPass(); }, isOptimized},
    // Of a step and of gradients, kernels run where they need least memory.
    {Stage::Loop, Scope::Target, kEvery, [](Pipe &) { return createOrderKernelsPass(); }, isTraining},
    // Of a step, what may fail comes before what changes states.
    {Stage::Loop, Scope::Target, kEvery, [](Pipe &) { return createCommitStatesPass(); }, isStep},
    // Results take the memory of operands that nobody needs afterwards.
    {Stage::Loop, Scope::Target, kEvery, [](Pipe &p) { return createPlanMemoryPass(p.limits); }},
};

void registerDialects(DialectRegistry &registry) {
  registry.insert<aten::AtenDialect, prims::PrimsDialect, loop::LoopDialect, control::ControlDialect,
                  arith::ArithDialect, func::FuncDialect, math::MathDialect>();
}

void registerPasses(PassesEnvironment &environment) {
  for (const Step &step : kSteps)
    registerPass([&step, &environment] {
      const Target &target = *environment.target;
      Pipe pipe{environment.weights,
                environment.options,
                schedule::getLimits(target.device),
                target.multipliesBytes,
                &target,
                environment.options.train.memoryBudget};
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

LogicalResult Pipeline::run(ModuleOp module, Stage stage, Scope scope, std::optional<Device> device,
                            const Target *target, std::optional<double> memoryBudget) {
  Times::Span span(times, ("stage " + getName(stage)).str() + (target ? ", for the target" : ""));
  PassManager manager(module.getContext());
  manager.enableVerifier(options.verifyEach);
  tracePasses(manager, options, times, dumped);
  Pipe pipe{weights, options, schedule::getLimits(options.device), multipliesBytes, target, memoryBudget};
  for (const Step &step : kSteps)
    if (step.stage == stage && step.scope == scope && (!step.device || step.device == device) &&
        (!step.isWanted || step.isWanted(options)))
      manager.addPass(step.create(pipe));
  return manager.run(module);
}

LogicalResult Pipeline::lowerModel(ModuleOp module, Stage to) {
  for (Stage stage = detectStage(module); stage <= to; stage = static_cast<Stage>(static_cast<int>(stage) + 1))
    if (failed(run(module, stage, Scope::Model, std::nullopt, nullptr)) || failed(verifyStage(module, stage)) ||
        failed(saveIr(module, stage, options)))
      return failure();
  return success();
}

LogicalResult Pipeline::rematerialise(ModuleOp module, std::optional<double> budget) {
  return failure(failed(run(module, Stage::Prims, Scope::Memory, std::nullopt, nullptr, budget)) ||
                 failed(saveIr(module, Stage::Prims, options)));
}

LogicalResult Pipeline::lowerForDevice(ModuleOp module, Device device) {
  return run(module, Stage::Loop, Scope::Device, device, nullptr);
}

LogicalResult Pipeline::lowerForTarget(ModuleOp module, const Target &target) {
  return failure(failed(run(module, Stage::Loop, Scope::Target, target.device, &target)) ||
                 failed(verifyStage(module, Stage::Loop)) || failed(saveIr(module, Stage::Loop, options)));
}

} // namespace ptc
