//===- PackContraction.cpp - panels of a product's weights ----------------===//

#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "compiler/codegen/cpu/pack/ByteWeights.h"
#include "compiler/codegen/cpu/pack/Packer.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/Reasons.h"
#include "dialects/loop/StridedAccess.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::cpu {

/// How many rows of lhs meet the weights.
static AffineExpr countRows(loop::ContractOp op) {
  Shape domain = loop::getDomain(op);
  return product(ShapeRef(domain).slice(op.getBatchRank(), op.getMRank()), op.getContext());
}

static std::optional<int64_t> rowsOf(loop::ContractOp op) { return getConstant(countRows(op)); }

/// The same at least, and at most, where calls tell how many.
static int64_t leastRowsOf(loop::ContractOp op) {
  return std::max<int64_t>(0, getRange(countRows(op), getSymbols(op)).min);
}
static int64_t mostRowsOf(loop::ContractOp op) { return getRange(countRows(op), getSymbols(op)).max; }

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
int64_t ContractionPacker::panelOfContract(loop::ContractOp op, int64_t columns, Type element) const {
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
std::optional<WeightView> ContractionPacker::viewOf(loop::ContractOp op) {
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

/// A core whose matrix unit is at work runs everything 8 % slower for a while (3.8 GHz become 3.5, Xeon): what gains
/// from the unit, which takes about 0.7 of its time, must be enough of the model's time.
static constexpr double kLeastShare = 0.25;

static bool isF32(Value value) { return elementOf(value).isF32(); }

LogicalResult ContractionPacker::pack(loop::ContractOp op) {
  auto view = viewOf(op);
  if (!view)
    return success();
  bool isForUnit = target.hasMatrixUnit() && isForMatrixUnit(op, *view), areBytes = view->group == bytes::kGroup;
  if (isForUnit && !areBytes)
    return packBf16x3(op, *view);
  Type element = llvm::cast<RankedTensorType>(op.getRhs().getType()).getElementType();
  int64_t panel = isForUnit ? bytes::kColumns : panelOfContract(op, view->columns, element);
  if (isForUnit) {
    view->step = bytes::kStep;
    op.setRhsStep(bytes::kStep);
  }
  bool mayBeSplit = target.hasMatrixUnit() && mostRowsOf(op) > 1 && isF32(op.getLhs()) && isF32(op.getRhs());
  bool pays = !shareOfMatrixUnit || (*shareOfMatrixUnit >= kLeastShare && areSplittable(op));
  op.setRhsSplittable(mayBeSplit && pays);
  int64_t panels = llvm::divideCeil(view->columns, panel);
  SmallVector<int64_t> shape(view->batchSizes);
  shape.append({panels, view->rows(), panel});
  if (view->group > 1)
    shape.push_back(view->group);
  op.setRhsPanel(panel);
  op.setRhsGroup(view->group);
  return replaceWeight(op.getRhsMutable(), *view, panel, shape);
}

/// Why the product is no faster with the weight arranged for the machine's matrix unit; empty where it is.
std::string ContractionPacker::findUnitObstacle(loop::ContractOp op, const WeightView &view) const {
  Type element = elementOf(op.getLhs());
  bool areBytes = view.group == bytes::kGroup;
  if (!areBytes && ((!element.isF32() && !element.isBF16()) || elementOf(op.getRhs()) != element))
    return "operands are neither f32 nor bf16 nor bytes";
  if (!view.batchSizes.empty())
    return "a batch of weights";
  if (llvm::count_if(view.kSizes, [](int64_t size) { return size != 1; }) != 1)
    return "k is not one dimension";
  if (loop::getTuning(op, loop::Knob::Vectors))
    return "the tuning entry sets the panel's vectors";
  if (!loop::isContiguousAlongK(op, op.getLhsMap(), op.getLhs()))
    return "rows are not contiguous along k"; // they are read in vectors
  if (areBytes)
    return bytes::findObstacle(mostRowsOf(op), view.kCount(), view.columns);
  auto findSmallSize = element.isBF16() ? bf16x3::findObstacleInBf16 : bf16x3::findObstacle;
  std::string obstacle = findSmallSize(leastRowsOf(op), view.kCount(), view.columns);
  return obstacle.empty() || rowsOf(op) ? obstacle : "the number of rows is dynamic, and may be such that " + obstacle;
}

bool ContractionPacker::gainsFromMatrixUnit(loop::ContractOp op) {
  auto view = viewOf(op);
  return view && findUnitObstacle(op, *view).empty();
}

bool ContractionPacker::areSplittable(loop::ContractOp op) const {
  return bf16x3::areSplittable(weights.find(keyOf(weightArgument(op.getRhs())))->bytes);
}

/// Whether arranging the weight for the matrix unit pays, and can be done.
bool ContractionPacker::isForMatrixUnit(loop::ContractOp op, const WeightView &view) const {
  std::string obstacle = findUnitObstacle(op, view);
  if (double share = shareOfMatrixUnit.value_or(0); obstacle.empty() && share < kLeastShare)
    obstacle = llvm::formatv("what gains from AMX is {0:P0} of the model's time, less than {1:P0}", share, kLeastShare);
  bool isForUnit = obstacle.empty() && (!isF32(op.getRhs()) || areSplittable(op));
  bool areBytes = view.group == bytes::kGroup;
  int64_t size = view.kCount() * view.columns * view.elementBytes, least = leastRowsOf(op);
  if (areBytes)
    least = std::max(least, bytes::leastRows(view.kCount(), view.columns)); // fewer are multiplied in vectors
  if (isForUnit)
    loop::addReason(op,
                    llvm::formatv("weights arranged for AMX when compiled: {0} rows{1} meet {2}",
                                  rowsOf(op).value_or(least), rowsOf(op) ? "" : " or more", loop::describeBytes(size)));
  else
    loop::addReason(op, "weights not arranged for AMX when compiled: " +
                            (obstacle.empty() ? "some are too large to be sums of bf16" : obstacle));
  return isForUnit;
}

/// Splits an f32 weight into three bf16 terms, or lays out a bf16 weight for tiles.
LogicalResult ContractionPacker::packBf16x3(loop::ContractOp op, const WeightView &source) {
  bool isSplit = isF32(op.getRhs());
  WeightView view = source;
  view.group = isSplit ? 1 : 2;
  int64_t k = view.kCount(), panels = llvm::divideCeil(view.columns, bf16x3::kColumns);
  int64_t steps = llvm::divideCeil(k, bf16x3::kStep), count = isSplit ? bf16x3::kTerms : 1;
  auto type = RankedTensorType::get({panels, steps, count, bf16x3::kPairs, bf16x3::kColumns, 2},
                                    BFloat16Type::get(op.getContext()));
  op.setRhsPanel(bf16x3::kColumns);
  op.setRhsBf16x3(true);
  std::string name = getPackedName(view, bf16x3::kColumns) + ".bf16x3";
  return replaceWeight(op.getRhsMutable(), name, type, [&](StringRef name) {
    ByteSource packed = cpu::pack(view, bf16x3::kColumns);
    weights.add(name, type, isSplit ? bf16x3::split(packed, k) : bf16x3::padSteps(packed, k));
  });
}

} // namespace ptc::cpu
