#include "compiler/graph/FoldBatchNorm.h"

#include "compiler/graph/Bytes.h"
#include "compiler/graph/ConstantValues.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

namespace {

/// A constant with one value for each index of dimension `dim`, or one for all
/// (dim = -1; `vector` is then 0-d).
struct ChannelFactor {
  Value vector;
  int64_t dim = -1;
};

class Folding {
public:
  explicit Folding(func::FuncOp function) : function(function) {}
  void run();

private:
  bool normalize(Operation *op);
  bool scale(MulOp op);
  bool mergeShifts(AddOp op);
  std::optional<ChannelFactor> getFactor(OpBuilder &b, Value value);
  Value scaleLinear(OpBuilder &b, Operation *linear, ChannelFactor factor);
  bool isLinear(Value value);
  /// The operand that is a constant, and the other one.
  std::optional<std::pair<Value, Value>> splitConstant(Operation *op);

  func::FuncOp function;
  ConstantValues constants;
};

} // namespace

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

std::optional<std::pair<Value, Value>> Folding::splitConstant(Operation *op) {
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (constants.contains(rhs) || llvm::isa_and_present<FullOp, BroadcastInDimOp>(rhs.getDefiningOp()))
    return std::make_pair(lhs, rhs);
  if (constants.contains(lhs) || llvm::isa_and_present<FullOp, BroadcastInDimOp>(lhs.getDefiningOp()))
    return std::make_pair(rhs, lhs);
  return std::nullopt;
}

/// A broadcast to symbolic sizes is no constant, but what it repeats may be.
std::optional<ChannelFactor> Folding::getFactor(OpBuilder &b, Value value) {
  Operation *op = value.getDefiningOp();
  if (auto full = llvm::dyn_cast_or_null<FullOp>(op))
    return ChannelFactor{FullOp::create(b, value.getLoc(), full.getValue(), b.getDenseI64ArrayAttr({})), -1};
  Value small = value;
  SmallVector<int64_t> dims;
  if (auto broadcast = llvm::dyn_cast_or_null<BroadcastInDimOp>(op)) {
    small = broadcast.getX();
    dims.assign(broadcast.getDims().begin(), broadcast.getDims().end());
  } else {
    for (size_t i = 0; i < getShape(value).size(); ++i)
      dims.push_back(i);
  }
  if (!constants.contains(small))
    return std::nullopt;
  ChannelFactor factor{small, -1};
  int64_t size = 1;
  for (auto [i, extent] : llvm::enumerate(llvm::cast<RankedTensorType>(small.getType()).getShape())) {
    if (extent == 1)
      continue;
    if (factor.dim >= 0)
      return std::nullopt;
    factor.dim = dims[i];
    size = extent;
  }
  SmallVector<int64_t> shape(factor.dim >= 0, size);
  if (dims.size() != shape.size())
    factor.vector = ReshapeOp::create(b, value.getLoc(), small, b.getDenseI64ArrayAttr(shape));
  return factor;
}

/// Weights that bytes stand for keep the scale that they have: IntegerProducts knows them by it, and multiplies sums.
bool Folding::isLinear(Value value) {
  Operation *op = value.getDefiningOp();
  auto isWeightOfBytes = [&](Value operand) { return constants.contains(operand) && isOfBytes(operand); };
  return value.hasOneUse() && llvm::isa_and_present<ConvolutionOp, ContractOp>(op) &&
         llvm::none_of(op->getOperands(), isWeightOfBytes);
}

//===----------------------------------------------------------------------===//
// Scaling weights
//===----------------------------------------------------------------------===//

/// The dimension of a contraction's operand that is dimension `dim` of the
/// result; none if it is one of the other operand.
static std::optional<int64_t> findFreeDim(ContractOp op, bool ofRhs, int64_t dim) {
  int64_t lhsRank = getShape(op.getLhs()).size(), rhsRank = getShape(op.getRhs()).size();
  int64_t next = op.getLhsBatch().size();
  auto scan = [&](int64_t rank, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) -> std::optional<int64_t> {
    for (int64_t i = 0; i < rank; ++i)
      if (!llvm::is_contained(batch, i) && !llvm::is_contained(contract, i) && next++ == dim)
        return i;
    return std::nullopt;
  };
  auto left = scan(lhsRank, op.getLhsBatch(), op.getLhsContract());
  return ofRhs ? (left ? std::nullopt : scan(rhsRank, op.getRhsBatch(), op.getRhsContract())) : left;
}

/// The operation with its weights scaled; null if the factor does not go along
/// an output channel of constant weights.
Value Folding::scaleLinear(OpBuilder &b, Operation *linear, ChannelFactor factor) {
  unsigned index = 1;
  std::optional<int64_t> dim;
  if (auto convolution = llvm::dyn_cast<ConvolutionOp>(linear)) {
    int64_t rank = getShape(convolution.getW()).size(), last = rank - 1;
    if (factor.dim == (convolution.getChannelsLast() ? last : 1))
      dim = convolution.getChannelsLast() ? last : 0;
  } else {
    auto contract = llvm::cast<ContractOp>(linear);
    index = constants.contains(contract.getRhs()) ? 1 : 0;
    dim = findFreeDim(contract, index == 1, factor.dim);
  }
  Value weights = linear->getOperand(index);
  if (!constants.contains(weights) || (factor.dim >= 0 && !dim))
    return Value();
  SmallVector<int64_t> dims;
  if (factor.dim >= 0)
    dims.push_back(*dim);
  Attribute sizes = makeSizesAttr(getShape(weights), b.getContext());
  Value broadcast = BroadcastInDimOp::create(b, linear->getLoc(), factor.vector, sizes, dims);
  Value scaled = MulOp::create(b, linear->getLoc(), weights, broadcast);
  Operation *clone = b.clone(*linear);
  clone->setOperand(index, scaled);
  return clone->getResult(0);
}

/// linear * s = linear with scaled weights; (linear + t) * s = linear' + t * s
bool Folding::scale(MulOp op) {
  auto split = splitConstant(op);
  if (!split || !isFloat(elementOf(op)) || llvm::cast<FloatType>(elementOf(op)).getWidth() < 32)
    return false;
  auto [x, constant] = *split;
  auto shift = x.hasOneUse() ? x.getDefiningOp<AddOp>() : AddOp();
  auto shifted = shift ? splitConstant(shift) : std::nullopt;
  Value linear = shifted ? shifted->first : x;
  if (!isLinear(linear))
    return false;
  OpBuilder b(op);
  auto factor = getFactor(b, constant);
  Value scaled = factor ? scaleLinear(b, linear.getDefiningOp(), *factor) : Value();
  if (!scaled)
    return false;
  if (shifted)
    scaled = AddOp::create(b, op.getLoc(), scaled, MulOp::create(b, op.getLoc(), shifted->second, constant));
  op.getResult().replaceAllUsesWith(scaled);
  return true;
}

/// (linear + a) + b = linear + (a + b)
bool Folding::mergeShifts(AddOp op) {
  auto split = splitConstant(op);
  if (!split || !split->first.hasOneUse() || !isFloat(elementOf(op)))
    return false;
  auto inner = split->first.getDefiningOp<AddOp>();
  auto shifted = inner ? splitConstant(inner) : std::nullopt;
  if (!shifted || !isLinear(shifted->first))
    return false;
  OpBuilder b(op);
  if (!getFactor(b, split->second) || !getFactor(b, shifted->second))
    return false;
  Value sum = AddOp::create(b, op.getLoc(), shifted->second, split->second);
  op.getResult().replaceAllUsesWith(AddOp::create(b, op.getLoc(), shifted->first, sum).getResult());
  return true;
}

/// x - c = x + -c, x / c = x * (1 / c), behind a linear operation
bool Folding::normalize(Operation *op) {
  if (!llvm::isa<SubOp, DivOp>(op) || !isFloat(elementOf(op->getResult(0))))
    return false;
  Value x = op->getOperand(0), constant = op->getOperand(1);
  auto shift = x.hasOneUse() ? x.getDefiningOp<AddOp>() : AddOp();
  OpBuilder b(op);
  bool behindLinear = isLinear(x) || (shift && (isLinear(shift.getLhs()) || isLinear(shift.getRhs())));
  if (!behindLinear || !getFactor(b, constant))
    return false;
  Value result;
  if (llvm::isa<SubOp>(op))
    result = AddOp::create(b, op->getLoc(), x, NegOp::create(b, op->getLoc(), constant));
  else
    result = MulOp::create(b, op->getLoc(), x, ReciprocalOp::create(b, op->getLoc(), constant));
  op->getResult(0).replaceAllUsesWith(result);
  return true;
}

void Folding::run() {
  // A rewrite puts its result before the operation, where the walk has been:
  // every link of a chain of scales and shifts is one more round.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::make_early_inc_range(function.front())) {
      bool done = normalize(&op);
      if (auto mul = llvm::dyn_cast<MulOp>(op); mul && !done)
        done = scale(mul);
      if (auto add = llvm::dyn_cast<AddOp>(op); add && !done)
        done = mergeShifts(add);
      changed |= done;
    }
    eraseDead(function);
    constants = ConstantValues();
  }
}

std::unique_ptr<Pass> createFoldBatchNormPass() {
  return makeFunctionPass<PrimsDialect>("fold-batch-norm", "scales move into weights", [](func::FuncOp function) {
    Folding(function).run();
    return success();
  });
}

} // namespace ptc
