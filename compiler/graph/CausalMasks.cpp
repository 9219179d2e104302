#include "compiler/graph/CausalMasks.h"

#include "compiler/graph/ConstantValues.h"
#include "compiler/graph/ConstantView.h"
#include "compiler/support/FunctionPass.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"
#include "dialects/prims/PrimsDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

namespace {

/// Numbers that are `base`, or with a dimension base + its index.
struct Positions {
  int64_t base;
  std::optional<int64_t> dim;
  std::optional<int64_t> last; ///< the largest, if that is known
};

/// Keys that a mask lets through: all, none, or key j for query i where j <= i + beyond.
struct Visible {
  enum Kind { All, None, Triangle } kind;
  int64_t beyond = 0;
};

class MaskReader {
public:
  explicit MaskReader(WeightStore &weights) : weights(weights) {}
  /// Of an i1 tensor whose last dimensions are queries and keys.
  std::optional<Visible> readMask(Value mask);

private:
  std::optional<Visible> compare(Value below, Value above, int64_t strict);
  std::optional<Positions> readPositions(Value value);
  std::optional<Positions> evaluatePositions(Value value);
  const ConstantView *compute(Value value);
  bool isSmall(Value value);

  WeightStore &weights;
  ConstantValues constants;
  DenseMap<Value, std::optional<ConstantView>> computed;
};

} // namespace

static RankedTensorType typeOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// What is computed here is not worth a notice when compiling.
bool MaskReader::isSmall(Value value) {
  constexpr int64_t kMostElements = 1 << 16;
  Operation *op = value.getDefiningOp();
  return typeOf(value).getNumElements() <= kMostElements &&
         (op ? llvm::all_of(op->getOperands(), [&](Value operand) { return isSmall(operand); })
             : weights.find(getWeightKey(value)) != nullptr);
}

const ConstantView *MaskReader::compute(Value value) {
  auto [it, isNew] = computed.try_emplace(value);
  Operation *op = value.getDefiningOp();
  if (isNew && !op) {
    it->second = ConstantView::ofBytes(typeOf(value), weights.find(getWeightKey(value))->bytes.data());
  } else if (isNew) {
    SmallVector<ConstantView> operands;
    for (Value operand : op->getOperands())
      if (const ConstantView *view = compute(operand))
        operands.push_back(*view);
    if (operands.size() < op->getNumOperands())
      return nullptr;
    auto results = evaluateConstant(op, operands);
    if (results)
      computed[value] = (*results)[llvm::cast<OpResult>(value).getResultNumber()];
    else
      llvm::consumeError(results.takeError()); // as an index out of range, which a call reports
  }
  const std::optional<ConstantView> &view = computed[value];
  return view ? &*view : nullptr;
}

/// By looking at all of them.
std::optional<Positions> MaskReader::evaluatePositions(Value value) {
  RankedTensorType type = typeOf(value);
  if (!constants.contains(value) || !type.getElementType().isSignlessInteger(64) || type.getNumElements() == 0 ||
      !isSmall(value))
    return std::nullopt;
  const ConstantView *view = compute(value);
  if (!view)
    return std::nullopt;
  std::vector<char> bytes = view->materialize();
  ArrayRef<int64_t> numbers(reinterpret_cast<const int64_t *>(bytes.data()), type.getNumElements());
  auto holds = [&](std::optional<int64_t> dim) {
    int64_t inner = 1, size = 1;
    if (dim) {
      size = type.getDimSize(*dim);
      for (int64_t d = *dim + 1; d < type.getRank(); ++d)
        inner *= type.getDimSize(d);
    }
    for (auto [i, number] : llvm::enumerate(numbers))
      if (number != numbers[0] + int64_t(i) / inner % size)
        return false;
    return true;
  };
  if (holds(std::nullopt))
    return Positions{numbers[0], std::nullopt, numbers[0]};
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (holds(dim))
      return Positions{numbers[0], dim, numbers.back()};
  return std::nullopt;
}

std::optional<Positions> MaskReader::readPositions(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto iota = llvm::dyn_cast_or_null<IotaOp>(op)) {
    auto size = getConstant(getShape(value)[iota.getDim()]);
    return Positions{0, int64_t(iota.getDim()), size ? std::optional(*size - 1) : std::nullopt};
  }
  if (auto broadcast = llvm::dyn_cast_or_null<BroadcastInDimOp>(op)) {
    auto positions = readPositions(broadcast.getX());
    if (!positions || !positions->dim)
      return positions;
    AffineExpr size = getShape(broadcast.getX())[*positions->dim];
    int64_t dim = broadcast.getDims()[*positions->dim];
    if (getConstant(size) == 1) // which may be repeated
      return Positions{positions->base, std::nullopt, positions->base};
    return size == getShape(value)[dim] ? std::optional(Positions{positions->base, dim, positions->last})
                                        : std::nullopt;
  }
  return evaluatePositions(value);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// below + strict <= above
std::optional<Visible> MaskReader::compare(Value below, Value above, int64_t strict) {
  auto lower = readPositions(below), upper = readPositions(above);
  if (!lower || !upper)
    return std::nullopt;
  int64_t beyond = upper->base - lower->base - strict, rank = typeOf(below).getRank();
  if (lower->dim == upper->dim)
    return Visible{beyond >= 0 ? Visible::All : Visible::None};
  if (lower->last && *lower->last + strict <= upper->base)
    return Visible{Visible::All};
  if (upper->last && lower->base + strict > *upper->last)
    return Visible{Visible::None};
  if (lower->dim == rank - 1 && upper->dim == rank - 2)
    return Visible{Visible::Triangle, beyond};
  return std::nullopt;
}

std::optional<Visible> MaskReader::readMask(Value mask) {
  Operation *op = mask.getDefiningOp();
  if (auto full = llvm::dyn_cast_or_null<FullOp>(op)) {
    auto value = llvm::dyn_cast<IntegerAttr>(full.getValue());
    return value ? std::optional(Visible{value.getValue().isZero() ? Visible::None : Visible::All}) : std::nullopt;
  }
  if (auto broadcast = llvm::dyn_cast_or_null<BroadcastInDimOp>(op)) {
    auto visible = readMask(broadcast.getX());
    Shape from = getShape(broadcast.getX()), to = getShape(mask);
    auto keeps = [&](size_t i) { // the dimension so many from the last
      return from.size() >= i && broadcast.getDims()[from.size() - i] == int64_t(to.size() - i) &&
             from[from.size() - i] == to[to.size() - i];
    };
    bool isKept = visible && (visible->kind != Visible::Triangle || (keeps(1) && keeps(2)));
    return isKept ? visible : std::nullopt;
  }
  if (auto reshape = llvm::dyn_cast_or_null<ReshapeOp>(op)) { // as one that puts dimensions of one before them
    auto visible = readMask(reshape.getX());
    Shape from = getShape(reshape.getX()), to = getShape(mask);
    bool isKept =
        visible && (visible->kind != Visible::Triangle ||
                    (from.size() >= 2 && to.size() >= 2 && ShapeRef(from).take_back(2) == ShapeRef(to).take_back(2)));
    return isKept ? visible : std::nullopt;
  }
  if (auto both = llvm::dyn_cast_or_null<AndOp>(op)) {
    auto lhs = readMask(both.getLhs()), rhs = lhs ? readMask(both.getRhs()) : std::nullopt;
    if (!lhs || !rhs)
      return std::nullopt;
    if (lhs->kind == Visible::None || rhs->kind == Visible::All)
      return lhs;
    if (rhs->kind == Visible::None || lhs->kind == Visible::All)
      return rhs;
    return Visible{Visible::Triangle, std::min(lhs->beyond, rhs->beyond)};
  }
  if (auto le = llvm::dyn_cast_or_null<LeOp>(op))
    return compare(le.getLhs(), le.getRhs(), 0);
  if (auto lt = llvm::dyn_cast_or_null<LtOp>(op))
    return compare(lt.getLhs(), lt.getRhs(), 1);
  if (auto ge = llvm::dyn_cast_or_null<GeOp>(op))
    return compare(ge.getRhs(), ge.getLhs(), 0);
  if (auto gt = llvm::dyn_cast_or_null<GtOp>(op))
    return compare(gt.getRhs(), gt.getLhs(), 1);
  if (auto eq = llvm::dyn_cast_or_null<EqOp>(op)) {
    auto lhs = readPositions(eq.getLhs()), rhs = readPositions(eq.getRhs());
    if (lhs && rhs && lhs->dim == rhs->dim)
      return Visible{lhs->base == rhs->base ? Visible::All : Visible::None};
  }
  return std::nullopt;
}

static void dropMask(AttentionOp op, MaskReader &reader) {
  Value mask = op.getMask();
  if (!mask || !typeOf(mask).getElementType().isInteger(1))
    return;
  Shape sizes = getShape(mask), queries = getShape(op.getQ()), keys = getShape(op.getK());
  size_t rank = sizes.size();
  auto visible = reader.readMask(mask);
  bool isTriangle = visible && visible->kind == Visible::Triangle && visible->beyond == 0 &&
                    sizes[rank - 2] == queries[rank - 2] && sizes[rank - 1] == keys[rank - 2];
  if (!isTriangle && !(visible && visible->kind == Visible::All))
    return;
  op.getMaskMutable().clear();
  op.setCausal(op.getCausal() || isTriangle);
}

std::unique_ptr<Pass> createCausalMasksPass(WeightStore &weights) {
  return makeFunctionPass("causal-masks", "attention by masks that are triangles is causal",
                          [&weights](func::FuncOp function) {
                            MaskReader reader(weights);
                            for (auto op : function.front().getOps<AttentionOp>())
                              dropMask(op, reader);
                            eraseDead(function);
                            return success();
                          });
}

} // namespace ptc
