//===- PackConvolution.cpp - panels of a convolution's weights ------------===//

#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "compiler/codegen/cpu/pack/Packer.h"
#include "compiler/codegen/cpu/pack/Winograd.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/Reasons.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace ptc::cpu {

SmallVector<int64_t> packedShape(RankedTensorType weight, int64_t groups, int64_t panel, int64_t group) {
  int64_t outputs = weight.getShape().back() / groups;
  SmallVector<int64_t> shape = {groups, int64_t(llvm::divideCeil(outputs, panel))};
  llvm::append_range(shape, weight.getShape().drop_back());
  shape.back() = llvm::divideCeil(shape.back(), group);
  shape.push_back(panel);
  if (group > 1)
    shape.push_back(group);
  return shape;
}

/// Whether vectors along the channels hold several whole groups, or groups are single channels.
bool ConvolutionPacker::isGrouped(loop::ConvolutionOp op) const {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t inputs = type.getShape()[type.getRank() - 2];
  bool isFew = inputs < lanesOf(type.getElementType()) && type.getElementType().isF32();
  return loop::isGrouped(op) && (inputs == 1 || isFew);
}

static constexpr int64_t kMostDotOutputs = 4;

/// A few outputs would leave most lanes of a vector empty; whole vectors of input channels do not.
bool ConvolutionPacker::isDot(loop::ConvolutionOp op) const {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t inputs = type.getShape()[type.getRank() - 2], outputs = type.getShape().back();
  return type.getElementType().isF32() && op.getGroups() == 1 && !op.getXChannelsFirst() &&
         outputs <= kMostDotOutputs && inputs % lanesOf(type.getElementType()) == 0;
}

/// Of the 16 registers of AVX2, 4 rows by 3 vectors need fewer loads for each product than 6 by 2 or 6 by 1: where
/// panels of two vectors would leave half of the last one empty, and those of three do not.
int64_t ConvolutionPacker::panelOfConvolution(loop::ConvolutionOp op, int64_t outputs, Type element) const {
  constexpr unsigned kAvx2Bytes = 32;
  int64_t vectors = llvm::divideCeil(outputs, lanesOf(element));
  bool takesThree = target.vectorBytes == kAvx2Bytes && vectors % 2 == 1 && vectors % 3 == 0;
  return panelOf(op, element, takesThree ? 3 : 2);
}

/// Where three or four vectors of 16 numbers hold all outputs of a direct convolution, a large image is read once: 0.9
/// of the time of first layers (Zen 4). Fewer and smaller tasks lose more by it (1.3 of a short 1-d convolution).
int64_t ConvolutionPacker::panelOfDirect(loop::ConvolutionOp op, int64_t outputs, Type element) const {
  constexpr unsigned kAvx512Bytes = 64;
  constexpr int64_t kMostVectors = 4, kManyPixels = 1024;
  auto y = llvm::cast<RankedTensorType>(op.getResult(0).getType());
  if (target.vectorBytes != kAvx512Bytes || target.hasMatrixUnit() || !y.hasStaticShape() || op.getKernel().size() != 2)
    return panelOfConvolution(op, outputs, element);
  int64_t pixels = y.getDimSize(1) * y.getDimSize(2), vectors = llvm::divideCeil(outputs, panelOf(op, element, 1));
  bool takesAll = pixels >= kManyPixels && vectors > 2 && vectors <= kMostVectors;
  return panelOf(op, element, takesAll ? vectors : 2);
}

LogicalResult ConvolutionPacker::pack(loop::ConvolutionOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType()); // [kernel..., C / groups, O]
  if (op.getWPanel() > 0)
    return success();
  bool grouped = isGrouped(op);
  if (grouped && op.getGroups() == 1)
    return success();
  bool dot = !grouped && isDot(op);
  int64_t groups = grouped ? 1 : op.getGroups(), outputs = type.getShape().back() / groups;
  int64_t panel = grouped ? lanesOf(type.getElementType())
                  : dot   ? 1
                          : panelOfConvolution(op, outputs, type.getElementType());
  int64_t inputs = type.getShape()[type.getRank() - 2];
  bool isForUnit = inputs % bf16x3::kStep == 0; // which takes whole steps of pairs
  int64_t group = grouped ? 1 : groupOf(type.getElementType(), type.getElementType(), inputs, isForUnit);
  BlockArgument argument = weightArgument(op.getW());
  if (!argument || !op.getW().hasOneUse())
    packComputedWeight(op, groups, panel, group);
  if (dot)
    loop::addReason(op, llvm::formatv("{0} outputs ({1} or fewer): vectors lie along the input channels",
                                      type.getShape().back(), kMostDotOutputs));
  if (op.getWPanel() > 0) {
    loop::addReason(op, "the weight is no constant that this kernel alone reads: packed when run");
    return success();
  }
  const Weight *weight = weights.find(keyOf(argument));
  if (!weight)
    return op.emitError() << "weight '" << keyOf(argument) << "' is missing";
  if (!grouped && panel > 1) {
    if (int64_t m = chooseWinogradTile(op))
      return packWinograd(op, m, panel);
    panel = panelOfDirect(op, outputs, type.getElementType());
  }
  WeightView source{weight->bytes.data(), 0, 0, groups, outputs, {outputs}, {1}, {groups}, {outputs}, {}, {}};
  source.elementBytes = getElementBytes(type.getElementType());
  int64_t stride = type.getShape().back();
  for (int64_t i = type.getRank() - 1; i-- > 0; stride *= type.getShape()[i]) {
    source.kSizes.insert(source.kSizes.begin(), type.getShape()[i]);
    source.kStrides.insert(source.kStrides.begin(), stride);
  }
  source.group = group;
  op.setWPanel(panel);
  op.setWGroup(group);
  return replaceWeight(op.getWMutable(), source, panel, packedShape(type, groups, panel, group));
}

/// Why minimal filtering cannot compute the convolution; empty where it can.
std::string ConvolutionPacker::findWinogradObstacle(loop::ConvolutionOp op) const {
  auto all = [](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [&](int64_t i) { return i == value; });
  };
  size_t rank = op.getKernel().size();
  if (rank < 2 || rank > 3 || !all(op.getKernel().take_back(2), 3))
    return "the kernel is not 3x3";
  if (!all(op.getStrides(), 1))
    return "stride " + loop::describeSizes(op.getStrides());
  if (!all(op.getDilations(), 1))
    return "dilation " + loop::describeSizes(op.getDilations());
  if (op.getGroups() != 1)
    return std::to_string(op.getGroups()) + " groups";
  if (!elementOf(op.getW()).isF32())
    return "elements other than float32";
  return usesWinograd ? "" : "it is turned off";
}

/// The tile of outputs of minimal filtering; 0 where the convolution is computed directly.
int64_t ConvolutionPacker::chooseWinogradTile(loop::ConvolutionOp op) const {
  if (std::string obstacle = findWinogradObstacle(op); !obstacle.empty()) {
    loop::addReason(op, "no minimal filtering: " + obstacle);
    return 0;
  }
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  auto y = llvm::cast<RankedTensorType>(op.getResult(0).getType());
  size_t rank = op.getKernel().size();
  int64_t frames = rank == 3 ? op.getKernel()[0] : 1, images = y.getDimSize(0) * (rank == 3 ? y.getDimSize(1) : 1);
  int64_t inputs = type.getDimSize(rank), outputs = type.getDimSize(rank + 1), lanes = lanesOf(type.getElementType());
  WinogradChoice byRule =
      y.hasStaticShape() ? chooseWinograd(images, y.getShape().slice(rank - 1, 2), frames * inputs, outputs, lanes,
                                          target.hasMatrixUnit())
                         : chooseWinograd(getImageSizes(getShape(op.getResult(0))), frames * inputs, outputs, lanes);
  int64_t m = loop::getTuning(op, loop::Knob::Winograd).value_or(byRule.m);
  loop::addReason(op, byRule.because);
  const Weight *weight = weights.find(keyOf(weightArgument(op.getW())));
  // An output that sees nothing but padding would see its neighbours' errors; larger weights might overflow in between.
  auto isOne = [](int64_t padding) { return padding <= 1; };
  if (!m)
    return 0;
  if (!llvm::all_of(op.getLow().take_back(2), isOne) || !llvm::all_of(op.getHigh().take_back(2), isOne) ||
      !bf16x3::areSplittable(weight->bytes)) {
    loop::addReason(op, "no minimal filtering: padding above 1, or a weight that is too large");
    return 0;
  }
  return m;
}

LogicalResult ConvolutionPacker::packWinograd(loop::ConvolutionOp op, int64_t m, int64_t panel) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  size_t rank = op.getKernel().size();
  int64_t frames = rank == 3 ? op.getKernel()[0] : 1, inputs = type.getDimSize(rank),
          outputs = type.getDimSize(rank + 1);
  const Weight *weight = weights.find(keyOf(weightArgument(op.getW())));
  const Winograd &winograd = Winograd::get(m);
  int64_t panels = llvm::divideCeil(outputs, panel);
  SmallVector<int64_t> shape = {panels * (winograd.points() + 9), frames * inputs, panel};
  auto packed = RankedTensorType::get(shape, type.getElementType());
  auto transform = [&](StringRef name) {
    // Bytes of a file may lie anywhere.
    std::vector<float> values(type.getNumElements());
    std::memcpy(values.data(), weight->bytes.data(), values.size() * sizeof(float));
    values = transformWeights(winograd, values.data(), frames, inputs, outputs, panel);
    const char *bytes = reinterpret_cast<const char *>(values.data());
    weights.add(name, packed, std::vector<char>(bytes, bytes + values.size() * sizeof(float)));
  };
  op.setWPanel(panel);
  op.setWinograd(m);
  std::string name = "winograd." + std::to_string(m) + "." + std::to_string(panel);
  return replaceWeight(op.getWMutable(), name, packed, transform);
}

} // namespace ptc::cpu
