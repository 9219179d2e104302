//===- PackWeights.cpp ----------------------------------------------------===//

#include "compiler/codegen/cpu/pack/PackWeights.h"

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "compiler/codegen/cpu/pack/WeightPanels.h"
#include "compiler/codegen/cpu/pack/Winograd.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/KernelCost.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/Reasons.h"
#include "dialects/loop/StridedAccess.h"
#include "dialects/loop/Tuning.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;

namespace ptc::cpu {

/// How many rows of lhs meet the weights, if that is known.
static std::optional<int64_t> rowsOf(loop::ContractOp op) {
  Shape domain = loop::getDomain(op);
  return getConstant(product(ShapeRef(domain).slice(op.getBatchRank(), op.getMRank()), op.getContext()));
}

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
    if (target.hasMatrixUnit())
      shareOfMatrixUnit = findShareOfMatrixUnit(getOperation());
    getOperation().walk([&](loop::ContractOp op) { packContract(op); });
    getOperation().walk([&](loop::ConvolutionOp op) { packConvolution(op); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      dropUnusedWeights(function);
  }

private:
  void dropUnusedWeights(func::FuncOp function);
  void packContract(loop::ContractOp op);
  void packConvolution(loop::ConvolutionOp op);
  void packComputedWeight(loop::ConvolutionOp op, int64_t groups, int64_t panel, int64_t group);
  BlockArgument weightArgument(Value value);
  std::string findWinogradObstacle(loop::ConvolutionOp op) const;
  bool packWinograd(loop::ConvolutionOp op, int64_t panel);
  bool isGrouped(loop::ConvolutionOp op) const;
  bool isDot(loop::ConvolutionOp op) const;
  void replaceWeight(OpOperand &use, const WeightView &view, int64_t panel, ArrayRef<int64_t> shape);
  void replaceWeight(OpOperand &use, StringRef suffix, RankedTensorType type,
                     llvm::function_ref<void(StringRef name)> addWeight);
  static StringRef keyOf(BlockArgument weight);
  std::optional<WeightView> viewOf(loop::ContractOp op);
  std::string findBf16x3Obstacle(loop::ContractOp op, const WeightView &view) const;
  double findShareOfMatrixUnit(ModuleOp module);
  bool packForMatrixUnit(loop::ContractOp op, const WeightView &view);
  bool packBf16x3(loop::ContractOp op, const WeightView &view);

  int64_t panelOf(Operation *op, Type element, int64_t vectorsByRule = 2) const {
    int64_t vectors = loop::getTuning(op, loop::Knob::Vectors).value_or(vectorsByRule);
    return vectors * lanesOf(element);
  }
  int64_t lanesOf(Type element) const { return target.vectorBytes / (element.isF64() ? 8 : 4); }
  int64_t panelOfContract(loop::ContractOp op, int64_t columns, Type element) const;
  int64_t panelOfDirect(loop::ConvolutionOp op, int64_t outputs, Type element) const;
  /// A single k has no neighbour. `slowPairs`: pairs of bf16 pay where instructions for them are slow, beside a matrix
  /// unit (Target::hasFastBf16Dot).
  int64_t groupOf(Type lhs, Type rhs, int64_t innerSize, bool slowPairs) const {
    bool isBytes = lhs.isInteger(8) && rhs.isInteger(8);
    bool usesPairs = target.hasBf16Dot() && (slowPairs || target.hasFastBf16Dot());
    return innerSize == 1                        ? 1
           : rhs.isBF16() && usesPairs           ? 2
           : isBytes && target.hasInt8Dot()      ? 4
                                                 : 1;
  }

  WeightStore &weights;
  const Target &target;
  bool usesWinograd;
  double shareOfMatrixUnit = 0; ///< of the model's time
};

} // namespace

/// The artifact holds what @forward names: not also the unpacked form.
void PackWeightsPass::dropUnusedWeights(func::FuncOp function) {
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty() && function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      unused.set(argument.getArgNumber());
  if (failed(function.eraseArguments(unused)))
    signalPassFailure();
}

/// The function argument that a kernel's block argument stands for, if it is a
/// weight that only this kernel reads in this way.
BlockArgument PackWeightsPass::weightArgument(Value value) {
  if (auto inner = llvm::dyn_cast<BlockArgument>(value))
    if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp()))
      value = kernel.getInputs()[inner.getArgNumber()];
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
    return {};
  return argument;
}

/// The name of a weight that is an argument of its function.
StringRef PackWeightsPass::keyOf(BlockArgument weight) {
  auto function = llvm::cast<func::FuncOp>(weight.getOwner()->getParentOp());
  return function.getArgAttrOfType<StringAttr>(weight.getArgNumber(), "ptc.weight").getValue();
}

void PackWeightsPass::replaceWeight(OpOperand &use, const WeightView &view, int64_t panel, ArrayRef<int64_t> shape) {
  Type element = llvm::cast<RankedTensorType>(use.get().getType()).getElementType();
  auto type = RankedTensorType::get(shape, element);
  replaceWeight(use, getPackedName(view, panel), type,
                [&](StringRef name) { weights.add(name, type, pack(view, panel)); });
}

/// Adds the packed weight as an argument of the function and makes `use` read it.
void PackWeightsPass::replaceWeight(OpOperand &use, StringRef suffix, RankedTensorType type,
                                    llvm::function_ref<void(StringRef name)> addWeight) {
  BlockArgument argument = weightArgument(use.get());
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::string name = (keyOf(argument) + "." + suffix).str();
  BlockArgument packed;
  for (BlockArgument other : function.getArguments()) {
    auto attr = function.getArgAttrOfType<StringAttr>(other.getArgNumber(), "ptc.weight");
    if (attr && attr.getValue() == name && other.getType() == type)
      packed = other;
  }
  if (!packed) {
    if (!weights.find(name)) // packed already for another target
      addWeight(name);
    unsigned index = function.getNumArguments();
    Builder builder(&getContext());
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("ptc.weight", builder.getStringAttr(name)));
    if (failed(function.insertArgument(index, type, attrs, argument.getLoc())))
      return signalPassFailure();
    packed = function.getArgument(index);
  }
  auto inner = llvm::dyn_cast<BlockArgument>(use.get());
  if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp())) {
    kernel.getInputsMutable()[inner.getArgNumber()].set(packed);
    inner.setType(type);
  } else {
    use.set(packed);
  }
}

/// Static strides of dimensions [first, first + count) of an access.
static bool staticPart(const loop::StridedAccess &access, ShapeRef sizes, unsigned first, unsigned count,
                       SmallVector<int64_t> &sizesOut, SmallVector<int64_t> &stridesOut) {
  for (unsigned i = first; i < first + count; ++i) {
    auto size = getConstant(sizes[i]), stride = getConstant(access.strides[i]);
    if (!size || !stride)
      return false;
    sizesOut.push_back(*size);
    stridesOut.push_back(*stride);
  }
  return true;
}

/// Tiles of 2 vectors have the most rows in 32 registers. After a short k they write more than they add up: then they
/// write wide rows, all columns where 4 vectors hold them (a fifth of the time of 12544 x 16 by 16 x 64). In the 16 of
/// AVX2, 4 rows by 3 vectors need fewer loads for each product than 6 by 2, which pays (5 % of BERT-base) where padding
/// the last panel does not matter.
int64_t PackWeightsPass::panelOfContract(loop::ContractOp op, int64_t columns, Type element) const {
  constexpr unsigned kAvx2Bytes = 32;
  constexpr int64_t kManyPanels = 8, kShort = 64, kMostVectors = 4;
  if (target.vectorBytes == kAvx2Bytes)
    return panelOf(op, element, columns >= kManyPanels * panelOf(op, element, 3) ? 3 : 2);
  auto k = getConstant(product(*getSizesFromAttr(op.getKSizes()), op.getContext()));
  if (!k || *k > kShort)
    return panelOf(op, element, 2);
  int64_t vectors = llvm::divideCeil(columns, panelOf(op, element, 1));
  return panelOf(op, element, vectors <= kMostVectors ? std::max<int64_t>(vectors, 2) : 3);
}

/// How packing sees the weight that is the contraction's right-hand side, if it is one.
std::optional<WeightView> PackWeightsPass::viewOf(loop::ContractOp op) {
  BlockArgument argument = weightArgument(op.getRhs());
  if (!argument || op.getRhsPanel() > 0 || !op.getRhs().hasOneUse())
    return std::nullopt;
  const Weight *weight = weights.find(keyOf(argument));
  Shape domain = loop::getDomain(op);
  auto access = loop::getStridedAccess(op.getRhsMap(), getShape(op.getRhs()));
  if (!weight || !access || !getConstant(access->offset))
    return std::nullopt;
  unsigned batch = op.getBatchRank(), m = op.getMRank(), n = op.getNRank();
  WeightView view{weight->bytes.data(), 0, *getConstant(access->offset), 0, 0, {}, {}, {}, {}, {}, {}};
  if (!staticPart(*access, domain, 0, batch, view.batchSizes, view.batchStrides) ||
      !staticPart(*access, domain, batch + m, n, view.columnSizes, view.columnStrides) ||
      !staticPart(*access, domain, batch + m + n, domain.size() - batch - m - n, view.kSizes, view.kStrides))
    return std::nullopt;
  Type element = llvm::cast<RankedTensorType>(argument.getType()).getElementType();
  view.elementBytes = getElementBytes(element);
  while (!view.kSizes.empty() && view.kSizes.back() == 1) {
    view.kSizes.pop_back();
    view.kStrides.pop_back();
  }
  // One row waits for the weights: widening them takes longer than multiplying pairs, slow or not.
  view.group = groupOf(elementOf(op.getLhs()), element, view.innerSize(), /*slowPairs=*/rowsOf(op) == 1);
  view.batches = llvm::product_of(view.batchSizes);
  view.columns = llvm::product_of(view.columnSizes);
  // A few columns would be mostly padding, read for nothing; they are read as they are.
  if (view.columns < panelOfContract(op, view.columns, element) / 4 || view.kCount() == 0)
    return std::nullopt;
  return view;
}

void PackWeightsPass::packContract(loop::ContractOp op) {
  auto view = viewOf(op);
  if (!view)
    return;
  if (target.hasMatrixUnit() && packForMatrixUnit(op, *view))
    return;
  Type element = llvm::cast<RankedTensorType>(op.getRhs().getType()).getElementType();
  int64_t panel = panelOfContract(op, view->columns, element), panels = llvm::divideCeil(view->columns, panel);
  SmallVector<int64_t> shape(view->batchSizes);
  shape.append({panels, view->rows(), panel});
  if (view->group > 1)
    shape.push_back(view->group);
  replaceWeight(op.getRhsMutable(), *view, panel, shape);
  op.setRhsPanel(panel);
  op.setRhsGroup(view->group);
}

static bool isF32(Value value) { return elementOf(value).isF32(); }

/// Why the product is no faster with the weight as bf16x3, on a machine with a matrix unit; empty where it is.
std::string PackWeightsPass::findBf16x3Obstacle(loop::ContractOp op, const WeightView &view) const {
  Type element = elementOf(op.getLhs());
  if ((!element.isF32() && !element.isBF16()) || elementOf(op.getRhs()) != element)
    return "operands are neither f32 nor bf16";
  if (!view.batchSizes.empty())
    return "a batch of weights";
  if (llvm::count_if(view.kSizes, [](int64_t size) { return size != 1; }) != 1)
    return "k is not one dimension";
  if (loop::getTuning(op, loop::Knob::Vectors))
    return "the tuning entry sets the panel's vectors";
  auto rows = rowsOf(op);
  if (!rows)
    return "the number of rows is dynamic";
  if (!loop::isContiguousAlongK(op, op.getLhsMap(), op.getLhs()))
    return "rows are not contiguous along k"; // they are read in vectors
  return (element.isBF16() ? bf16x3::findObstacleInBf16 : bf16x3::findObstacle)(*rows, view.kCount(), view.columns);
}

/// Packs the weight for the matrix unit where that pays.
bool PackWeightsPass::packForMatrixUnit(loop::ContractOp op, const WeightView &view) {
  // A core whose matrix unit is at work runs everything 8 % slower for a while (3.8 GHz become 3.5, Xeon): what gains
  // from the unit, which takes about 0.7 of its time, must be enough of the model's time.
  constexpr double kLeastShare = 0.25;
  std::string obstacle = findBf16x3Obstacle(op, view);
  if (obstacle.empty() && shareOfMatrixUnit < kLeastShare)
    obstacle = llvm::formatv("what gains from AMX is {0:P0} of the model's time, less than {1:P0}", shareOfMatrixUnit,
                             kLeastShare);
  bool isPacked = obstacle.empty() && packBf16x3(op, view);
  int64_t bytes = view.kCount() * view.columns * view.elementBytes;
  if (isPacked)
    loop::addReason(op, llvm::formatv("weights arranged for AMX when compiled: {0} rows meet {1}", *rowsOf(op),
                                      loop::describeBytes(bytes)));
  else
    loop::addReason(op, "weights not arranged for AMX when compiled: " +
                            (obstacle.empty() ? "some are too large to be sums of bf16" : obstacle));
  return isPacked;
}

/// The part of the model's time that gains from the matrix unit.
double PackWeightsPass::findShareOfMatrixUnit(ModuleOp module) {
  constexpr double kFlopsPerByte = 8;
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
      if (auto view = contract ? viewOf(contract) : std::nullopt)
        goes |= findBf16x3Obstacle(contract, *view).empty();
    });
    there += goes ? time : 0;
  });
  return all > 0 ? there / all : 1;
}

/// Splits an f32 weight into three bf16 terms, or lays out a bf16 weight for tiles; false if a value is too large to
/// split.
bool PackWeightsPass::packBf16x3(loop::ContractOp op, const WeightView &source) {
  bool isSplit = isF32(op.getRhs());
  if (isSplit && !bf16x3::areSplittable(weights.find(keyOf(weightArgument(op.getRhs())))->bytes))
    return false;
  WeightView view = source;
  view.group = isSplit ? 1 : 2;
  int64_t k = view.kCount(), panels = llvm::divideCeil(view.columns, bf16x3::kColumns);
  int64_t steps = llvm::divideCeil(k, bf16x3::kStep), count = isSplit ? bf16x3::kTerms : 1;
  auto type = RankedTensorType::get({panels, steps, count, bf16x3::kPairs, bf16x3::kColumns, 2},
                                    BFloat16Type::get(&getContext()));
  replaceWeight(op.getRhsMutable(), getPackedName(view, bf16x3::kColumns) + ".bf16x3", type, [&](StringRef name) {
    ByteSource packed = pack(view, bf16x3::kColumns);
    weights.add(name, type, isSplit ? bf16x3::split(packed, k) : bf16x3::padSteps(packed, k));
  });
  op.setRhsPanel(bf16x3::kColumns);
  op.setRhsBf16x3(true);
  return true;
}

/// Shape of the packed form of a weight [kernel..., C / groups, O].
static SmallVector<int64_t> packedShape(RankedTensorType weight, int64_t groups, int64_t panel, int64_t group) {
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
bool PackWeightsPass::isGrouped(loop::ConvolutionOp op) const {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t inputs = type.getShape()[type.getRank() - 2];
  bool isFew = inputs < lanesOf(type.getElementType()) && type.getElementType().isF32();
  return loop::isGrouped(op) && (inputs == 1 || isFew);
}

static constexpr int64_t kMostDotOutputs = 4;

/// A few outputs would leave most lanes of a vector empty; whole vectors of input channels do not.
bool PackWeightsPass::isDot(loop::ConvolutionOp op) const {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t inputs = type.getShape()[type.getRank() - 2], outputs = type.getShape().back();
  return type.getElementType().isF32() && op.getGroups() == 1 && !op.getXChannelsFirst() &&
         outputs <= kMostDotOutputs && inputs % lanesOf(type.getElementType()) == 0;
}

/// Where three or four vectors of 16 numbers hold all outputs of a direct convolution, a large image is read once: 0.9
/// of the time of first layers (Zen 4). Fewer and smaller tasks lose more by it (1.3 of a short 1-d convolution).
int64_t PackWeightsPass::panelOfDirect(loop::ConvolutionOp op, int64_t outputs, Type element) const {
  constexpr unsigned kAvx512Bytes = 64;
  constexpr int64_t kMostVectors = 4, kManyPixels = 1024;
  auto y = llvm::cast<RankedTensorType>(op.getResult(0).getType());
  if (target.vectorBytes != kAvx512Bytes || target.hasMatrixUnit() || !y.hasStaticShape() || op.getKernel().size() != 2)
    return panelOf(op, element);
  int64_t pixels = y.getDimSize(1) * y.getDimSize(2), vectors = llvm::divideCeil(outputs, panelOf(op, element, 1));
  bool takesAll = pixels >= kManyPixels && vectors > 2 && vectors <= kMostVectors;
  return panelOf(op, element, takesAll ? vectors : 2);
}

void PackWeightsPass::packConvolution(loop::ConvolutionOp op) {
  auto type = llvm::cast<RankedTensorType>(op.getW().getType()); // [kernel..., C / groups, O]
  if (op.getWPanel() > 0)
    return;
  bool grouped = isGrouped(op);
  if (grouped && op.getGroups() == 1)
    return;
  bool dot = !grouped && isDot(op);
  int64_t groups = grouped ? 1 : op.getGroups(), outputs = type.getShape().back() / groups;
  int64_t panel = grouped ? lanesOf(type.getElementType()) : dot ? 1 : panelOf(op, type.getElementType());
  int64_t inputs = type.getShape()[type.getRank() - 2];
  bool isForUnit = inputs % bf16x3::kStep == 0; // which takes whole steps of pairs
  int64_t group = grouped ? 1 : groupOf(type.getElementType(), type.getElementType(), inputs, isForUnit);
  BlockArgument argument = weightArgument(op.getW());
  if (!argument || !op.getW().hasOneUse())
    packComputedWeight(op, groups, panel, group);
  if (dot)
    loop::addReason(op, llvm::formatv("{0} outputs ({1} or fewer): vectors lie along the input channels",
                                      type.getShape().back(), kMostDotOutputs));
  if (op.getWPanel() > 0)
    return loop::addReason(op, "the weight is no constant that this kernel alone reads: packed when run");
  const Weight *weight = weights.find(keyOf(argument));
  if (!weight) {
    op.emitError() << "weight '" << keyOf(argument) << "' is missing";
    return signalPassFailure();
  }
  if (!grouped && panel > 1) {
    if (packWinograd(op, panel))
      return;
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
  replaceWeight(op.getWMutable(), source, panel, packedShape(type, groups, panel, group));
  op.setWPanel(panel);
  op.setWGroup(group);
}

/// Why minimal filtering cannot compute the convolution; empty where it can.
std::string PackWeightsPass::findWinogradObstacle(loop::ConvolutionOp op) const {
  auto isStatic = [](Value value) { return llvm::cast<RankedTensorType>(value.getType()).hasStaticShape(); };
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
  if (!isStatic(op.getX()) || !isStatic(op.getResult(0)))
    return "dynamic sizes";
  return usesWinograd ? "" : "it is turned off";
}

/// Whether the convolution becomes one by minimal filtering.
bool PackWeightsPass::packWinograd(loop::ConvolutionOp op, int64_t panel) {
  if (std::string obstacle = findWinogradObstacle(op); !obstacle.empty()) {
    loop::addReason(op, "no minimal filtering: " + obstacle);
    return false;
  }
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  auto y = llvm::cast<RankedTensorType>(op.getResult(0).getType());
  size_t rank = op.getKernel().size();
  int64_t frames = rank == 3 ? op.getKernel()[0] : 1, images = y.getDimSize(0) * (rank == 3 ? y.getDimSize(1) : 1);
  int64_t inputs = type.getDimSize(rank), outputs = type.getDimSize(rank + 1), lanes = lanesOf(type.getElementType());
  WinogradChoice byRule =
      chooseWinograd(images, y.getShape().slice(rank - 1, 2), frames * inputs, outputs, lanes, target.hasMatrixUnit());
  int64_t m = loop::getTuning(op, loop::Knob::Winograd).value_or(byRule.m);
  loop::addReason(op, byRule.because);
  const Weight *weight = weights.find(keyOf(weightArgument(op.getW())));
  // An output that sees nothing but padding would see its neighbours' errors; larger weights might overflow in between.
  auto isOne = [](int64_t padding) { return padding <= 1; };
  if (!m)
    return false;
  if (!llvm::all_of(op.getLow().take_back(2), isOne) || !llvm::all_of(op.getHigh().take_back(2), isOne) ||
      !bf16x3::areSplittable(weight->bytes)) {
    loop::addReason(op, "no minimal filtering: padding above 1, or a weight that is too large");
    return false;
  }
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
  replaceWeight(op.getWMutable(), "winograd." + std::to_string(m) + "." + std::to_string(panel), packed, transform);
  op.setWPanel(panel);
  op.setWinograd(m);
  return true;
}

/// A weight that the model computes, or is given, is packed by a kernel of its own.
void PackWeightsPass::packComputedWeight(loop::ConvolutionOp op, int64_t groups, int64_t panel, int64_t group) {
  auto kernel = op->getParentOfType<loop::KernelOp>();
  auto type = llvm::cast<RankedTensorType>(op.getW().getType());
  int64_t outputs = type.getShape().back() / groups;
  auto packed = RankedTensorType::get(packedShape(type, groups, panel, group), type.getElementType());
  unsigned taps = type.getRank() - 1; // kernel and input channels
  Location loc = op.getLoc();
  OpBuilder b(kernel);
  auto argument = llvm::cast<BlockArgument>(op.getW());
  auto pack = loop::KernelOp::create(b, loc, TypeRange(packed), kernel.getInputs()[argument.getArgNumber()],
                                     (kernel.getName() + "_pack").str(), int64_t(packed.getRank()),
                                     b.getDenseI64ArrayAttr({}));
  Block &body = pack.getBody().emplaceBlock();
  Value weight = body.addArgument(type, loc);
  b.setInsertionPointToStart(&body);
  auto map = loop::MapOp::create(b, loc, TypeRange(packed));
  Block &point = map.getBody().emplaceBlock();
  point.addArguments(SmallVector<Type>(packed.getRank(), b.getIndexType()),
                     SmallVector<Location>(packed.getRank(), loc));
  loop::YieldOp::create(b, loc, map.getResults());

  // Place (group, panel, taps..., lane) holds column panel * width + lane of the group; with groups of channels,
  // (group, panel, kernel..., channel / g, lane, channel % g).
  b.setInsertionPointToStart(&point);
  AffineExpr column = b.getAffineDimExpr(1) * panel + b.getAffineDimExpr(2 + taps);
  SmallVector<AffineExpr> place;
  for (unsigned i = 0; i < taps; ++i)
    place.push_back(b.getAffineDimExpr(2 + i));
  if (group > 1)
    place.back() = place.back() * group + b.getAffineDimExpr(3 + taps);
  AffineExpr channel = place.back();
  place.push_back(b.getAffineDimExpr(0) * outputs + column);
  auto mapOf = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMapAttr::get(AffineMap::get(packed.getRank(), 0, exprs, &getContext()));
  };
  auto below = [&](AffineExpr expr, int64_t size) -> Value {
    Value index = loop::IndexOp::create(b, loc, b.getIndexType(), point.getArguments(), mapOf(expr));
    Value limit = arith::ConstantIndexOp::create(b, loc, size);
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, index, limit);
  };
  Value inside = below(column, outputs);
  if (int64_t channels = type.getShape()[taps - 1]; channels % group)
    inside = arith::AndIOp::create(b, loc, inside, below(channel, channels));
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value read =
      loop::ReadOp::create(b, loc, type.getElementType(), weight, point.getArguments(), inside, zero, mapOf(place));
  loop::YieldOp::create(b, loc, read);
  kernel.getInputsMutable()[argument.getArgNumber()].set(pack.getResult(0));
  argument.setType(packed);
  op.setWPanel(panel);
  op.setWGroup(group);
}

std::unique_ptr<Pass> createPackWeightsPass(WeightStore &weights, const Target &target, bool winograd) {
  return std::make_unique<PackWeightsPass>(weights, target, winograd);
}

} // namespace ptc::cpu
