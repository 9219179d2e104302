//===- PackWeights.cpp ----------------------------------------------------===//

#include "compiler/codegen/cpu/pack/PackWeights.h"

#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
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
    double share = target.hasMatrixUnit() ? findShareOfMatrixUnit(getOperation()) : 0;
    if (failed(pack(getOperation(), share)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(dropUnusedWeights(function)))
        return signalPassFailure();
  }

private:
  LogicalResult pack(ModuleOp module, double shareOfMatrixUnit) const;
  static LogicalResult dropUnusedWeights(func::FuncOp function);
  double findShareOfMatrixUnit(ModuleOp module) const;

  WeightStore &weights;
  const Target &target;
  bool usesWinograd;
};

} // namespace

LogicalResult PackWeightsPass::pack(ModuleOp module, double shareOfMatrixUnit) const {
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

static bool isF32(Value value) { return elementOf(value).isF32(); }

/// The part of the model's time that gains from the matrix unit.
double PackWeightsPass::findShareOfMatrixUnit(ModuleOp module) const {
  constexpr double kFlopsPerByte = 8;
  ContractionPacker contractions(weights, target, /*shareOfMatrixUnit=*/0);
  double all = 0, there = 0;
  module.walk([&](loop::KernelOp kernel) {
    loop::KernelCost cost = loop::getKernelCost(kernel);
    auto flops = getConstant(cost.flops), bytes = getConstant(cost.bytes);
    if (!flops || !bytes)
      return;
    double time = std::max<double>(*flops, kFlopsPerByte * *bytes);
    all += time;
    bool goes = false;
    kernel.walk([&](Operation *op) {
      auto contract = llvm::dyn_cast<loop::ContractOp>(op);
      auto convolution = llvm::dyn_cast<loop::ConvolutionOp>(op);
      bool isOfUnit = (contract && isF32(contract.getLhs())) ||
                      (convolution && (isF32(convolution.getX()) || elementOf(convolution.getX()).isBF16()));
      goes |= isOfUnit && *flops >= bf16x3::kLeastFlopsUnsplit; // goes there anyway
      goes |= contract && contractions.gainsFromMatrixUnit(contract);
    });
    there += goes ? time : 0;
  });
  return all > 0 ? there / all : 1;
}

std::unique_ptr<Pass> createPackWeightsPass(WeightStore &weights, const Target &target, bool winograd) {
  return std::make_unique<PackWeightsPass>(weights, target, winograd);
}

} // namespace ptc::cpu
