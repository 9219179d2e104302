//===- Packer.h - what packing has in common for all operations -----------===//
#pragma once

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/WeightPanels.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/Tuning.h"

namespace ptc::cpu {

/// Weights as arguments of functions, and how wide their panels are.
class Packer {
public:
  Packer(WeightStore &weights, const Target &target) : weights(weights), target(target) {}

protected:
  /// The function argument that a kernel's block argument stands for, if it is a weight.
  static mlir::BlockArgument weightArgument(mlir::Value value);
  /// The name of a weight that is an argument of its function.
  static llvm::StringRef keyOf(mlir::BlockArgument weight);
  /// Adds the packed weight as an argument of the function and makes `use` read it.
  mlir::LogicalResult replaceWeight(mlir::OpOperand &use, const WeightView &view, int64_t panel,
                                    llvm::ArrayRef<int64_t> shape);
  mlir::LogicalResult replaceWeight(mlir::OpOperand &use, llvm::StringRef suffix, mlir::RankedTensorType type,
                                    llvm::function_ref<void(llvm::StringRef name)> addWeight);

  int64_t panelOf(mlir::Operation *op, mlir::Type element, int64_t vectorsByRule = 2) const {
    int64_t vectors = loop::getTuning(op, loop::Knob::Vectors).value_or(vectorsByRule);
    return vectors * lanesOf(element);
  }
  int64_t lanesOf(mlir::Type element) const { return target.vectorBytes / (element.isF64() ? 8 : 4); }
  /// A single k has no neighbour. `slowPairs`: pairs of bf16 pay where instructions for them are slow, beside a matrix
  /// unit (Target::hasFastBf16Dot).
  int64_t groupOf(mlir::Type lhs, mlir::Type rhs, int64_t innerSize, bool slowPairs) const;

  WeightStore &weights;
  const Target &target;
};

class ContractionPacker : public Packer {
public:
  /// `shareOfMatrixUnit`: of the model's time, what gains from the unit. Null where that is to be found: no weights are
  /// arranged for it, and all may be split for it.
  ContractionPacker(WeightStore &weights, const Target &target, std::optional<double> shareOfMatrixUnit)
      : Packer(weights, target), shareOfMatrixUnit(shareOfMatrixUnit) {}

  mlir::LogicalResult pack(loop::ContractOp op);
  /// Whether the product is faster with weights that are arranged for the unit.
  bool gainsFromMatrixUnit(loop::ContractOp op);

private:
  std::optional<WeightView> viewOf(loop::ContractOp op);
  int64_t panelOfContract(loop::ContractOp op, int64_t columns, mlir::Type element) const;
  std::string findUnitObstacle(loop::ContractOp op, const WeightView &view) const;
  bool isForMatrixUnit(loop::ContractOp op, const WeightView &view) const;
  bool areSplittable(loop::ContractOp op) const; ///< all numbers of the weight
  mlir::LogicalResult packBf16x3(loop::ContractOp op, const WeightView &view);

  std::optional<double> shareOfMatrixUnit;
};

class ConvolutionPacker : public Packer {
public:
  ConvolutionPacker(WeightStore &weights, const Target &target, bool usesWinograd)
      : Packer(weights, target), usesWinograd(usesWinograd) {}

  mlir::LogicalResult pack(loop::ConvolutionOp op);

private:
  bool isGrouped(loop::ConvolutionOp op) const;
  bool isDot(loop::ConvolutionOp op) const;
  int64_t panelOfConvolution(loop::ConvolutionOp op, int64_t outputs, mlir::Type element) const;
  int64_t panelOfDirect(loop::ConvolutionOp op, int64_t outputs, mlir::Type element) const;
  std::string findWinogradObstacle(loop::ConvolutionOp op) const;
  int64_t chooseWinogradTile(loop::ConvolutionOp op) const;
  mlir::LogicalResult packWinograd(loop::ConvolutionOp op, int64_t m, int64_t panel);

  bool usesWinograd;
};

/// Shape of the packed form of a weight [kernel..., C / groups, O].
llvm::SmallVector<int64_t> packedShape(mlir::RankedTensorType weight, int64_t groups, int64_t panel, int64_t group);

/// A weight that the model computes, or is given, is packed by a kernel of its own.
void packComputedWeight(loop::ConvolutionOp op, int64_t groups, int64_t panel, int64_t group);

} // namespace ptc::cpu
