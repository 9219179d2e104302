#include "compiler/codegen/cpu/pack/PackWeights.h"

#include "compiler/codegen/cpu/conv/SplitConvolution.h"
#include "compiler/codegen/cpu/gemm/ContractionPlan.h"
#include "compiler/codegen/cpu/pack/Packer.h"
#include "dialects/loop/KernelCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace ptc::cpu {

namespace {

class PackWeightsPass : public PassWrapper<PackWeightsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PackWeightsPass)

  PackWeightsPass(WeightStore &weights, const Target &target, bool usesWinograd)
      : weights(weights), target(target), usesWinograd(usesWinograd) {}
  PackWeightsPass(const PackWeightsPass &) = default;

  StringRef getArgument() const override { return "pack-weights"; }
  StringRef getDescription() const override { return "weights in the order that kernels read them"; }

  void runOnOperation() override {
    llvm::FailureOr<double> share = target.hasMatrixUnit() ? findShareOfMatrixUnit(getOperation()) : 0;
    if (failed(share) || failed(pack(getOperation(), *share)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(dropUnusedWeights(function)))
        return signalPassFailure();
  }

private:
  LogicalResult pack(ModuleOp module, std::optional<double> shareOfMatrixUnit) const;
  static LogicalResult dropUnusedWeights(func::FuncOp function);
  llvm::FailureOr<double> findShareOfMatrixUnit(ModuleOp module) const;

  WeightStore &weights;
  const Target &target;
  bool usesWinograd;
};

} // namespace

LogicalResult PackWeightsPass::pack(ModuleOp module, std::optional<double> shareOfMatrixUnit) const {
  ContractionPacker contractions(weights, target, shareOfMatrixUnit);
  ConvolutionPacker convolutions(weights, target, usesWinograd);
  auto walked = module.walk([&](loop::ContractOp op) {
    return failed(contractions.pack(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!walked.wasInterrupted())
    walked = module.walk([&](loop::ConvolutionOp op) {
      return failed(convolutions.pack(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
  return failure(walked.wasInterrupted());
}

/// The artifact holds what @forward names: not also the unpacked form.
LogicalResult PackWeightsPass::dropUnusedWeights(func::FuncOp function) {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      unused.set(argument.getArgNumber());
  return function.eraseArguments(unused);
}

/// Whether the matrix unit takes the operation though its weights are packed for vectors.
static bool isPlannedForMatrixUnit(Operation *op, const Target &target) {
  if (auto contract = llvm::dyn_cast<loop::ContractOp>(op)) {
    llvm::Expected<ContractionPlan> plan = planContraction(contract, target);
    if (plan)
      return plan->splitsWeights();
    llvm::consumeError(plan.takeError()); // which codegen reports
  }
  auto convolution = llvm::dyn_cast<loop::ConvolutionOp>(op);
  std::string because;
  return convolution && convolution.getWinograd() == 0 &&
         planSplit(planConvolution(convolution, target), convolution, because);
}

/// The part of the model's time that gains from the matrix unit. What goes there in any case is planned on a copy,
/// whose weights are packed as if nothing gained more from the unit.
llvm::FailureOr<double> PackWeightsPass::findShareOfMatrixUnit(ModuleOp module) const {
  constexpr double kFlopsPerByte = 8;
  auto kernelsOf = [](ModuleOp module) {
    SmallVector<loop::KernelOp> kernels;
    module.walk([&](loop::KernelOp kernel) { kernels.push_back(kernel); });
    return kernels;
  };
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<loop::KernelOp> kernels = kernelsOf(module), packed = kernelsOf(*copy);
  if (failed(pack(*copy, /*shareOfMatrixUnit=*/std::nullopt)))
    return failure();
  ContractionPacker contractions(weights, target, /*shareOfMatrixUnit=*/std::nullopt);
  // Sizes that calls tell are taken for small ones: it is about shares.
  constexpr int64_t kUsualSize = 8;
  SmallVector<Symbol> symbols = getSymbols(module);
  SmallVector<int64_t> usual;
  for (const Symbol &symbol : symbols)
    usual.push_back(std::max(kUsualSize, symbol.min));
  evaluateExtrema(symbols, usual);
  double all = 0, there = 0;
  for (auto [kernel, ofVectors] : llvm::zip_equal(kernels, packed)) {
    loop::KernelCost cost = loop::getKernelCost(kernel);
    double time = std::max<double>(evaluate(cost.flops, usual), kFlopsPerByte * evaluate(cost.bytes, usual));
    all += time;
    bool goes = false;
    kernel.walk([&](loop::ContractOp op) { goes |= contractions.gainsFromMatrixUnit(op); });
    ofVectors.walk([&](Operation *op) { goes |= isPlannedForMatrixUnit(op, target); });
    there += goes ? time : 0;
  }
  return all > 0 ? there / all : 1;
}

std::unique_ptr<Pass> createPackWeightsPass(WeightStore &weights, const Target &target, bool winograd) {
  return std::make_unique<PackWeightsPass>(weights, target, winograd);
}

} // namespace ptc::cpu
