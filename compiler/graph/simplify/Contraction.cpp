//===- Contraction.cpp - contractions take shape changes in ---------------===//

#include "compiler/graph/simplify/ReshapeGroups.h"
#include "compiler/graph/simplify/Rules.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

using Dims = SmallVector<int64_t>;

static Dims mapDims(ArrayRef<int64_t> dims, ArrayRef<int64_t> map) {
  Dims result;
  for (int64_t dim : dims)
    result.push_back(map[dim]);
  return result;
}

//===----------------------------------------------------------------------===//
// Transposes become dimension numbers
//===----------------------------------------------------------------------===//

/// Whether the free dimensions stay in order when seen before the transpose.
static bool keepsFreeOrder(TransposeOp transpose, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  int64_t last = -1;
  for (auto [i, from] : llvm::enumerate(transpose.getPermutation())) {
    if (llvm::is_contained(batch, i) || llvm::is_contained(contract, i))
      continue;
    if (from < last)
      return false;
    last = from;
  }
  return true;
}

/// contract(transpose(x), y) = contract(x, y) with other dimension numbers
static LogicalResult transposeOfContraction(ContractOp op, PatternRewriter &b) {
  auto lhs = op.getLhs().getDefiningOp<TransposeOp>(), rhs = op.getRhs().getDefiningOp<TransposeOp>();
  if (lhs && keepsFreeOrder(lhs, op.getLhsBatch(), op.getLhsContract())) {
    b.replaceOpWithNewOp<ContractOp>(op, op.getType(), lhs.getX(), op.getRhs(),
                                     mapDims(op.getLhsBatch(), lhs.getPermutation()), op.getRhsBatch(),
                                     mapDims(op.getLhsContract(), lhs.getPermutation()), op.getRhsContract());
    return success();
  }
  if (rhs && keepsFreeOrder(rhs, op.getRhsBatch(), op.getRhsContract())) {
    b.replaceOpWithNewOp<ContractOp>(op, op.getType(), op.getLhs(), rhs.getX(), op.getLhsBatch(),
                                     mapDims(op.getRhsBatch(), rhs.getPermutation()), op.getLhsContract(),
                                     mapDims(op.getRhsContract(), rhs.getPermutation()));
    return success();
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Reshapes move behind
//===----------------------------------------------------------------------===//

namespace {

/// An operand with a reshape taken off: its dimension numbers before it.
struct Unreshaped {
  Value value;
  Dims batch, contract;
  SmallVector<ReshapeGroup> batchGroups;
};

} // namespace

/// None if a contracted dimension is split or merged, or nothing is gained.
static std::optional<Unreshaped> takeReshapeOff(Value operand, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
  auto reshape = operand.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return std::nullopt;
  auto groups = groupDims(getShape(reshape.getX()), getShape(operand));
  if (!groups)
    return std::nullopt;
  Unreshaped result{reshape.getX(), {}, {}, {}};
  auto find = [&](int64_t dim) {
    return llvm::find_if(*groups, [&](const ReshapeGroup &g) {
      return int64_t(g.to) <= dim && dim < int64_t(g.to + g.toCount);
    });
  };
  for (int64_t dim : batch) {
    auto group = find(dim);
    if (group->toCount != 1)
      return std::nullopt;
    for (size_t i = 0; i < group->fromCount; ++i)
      result.batch.push_back(group->from + i);
    result.batchGroups.push_back(*group);
  }
  for (int64_t dim : contract) {
    auto group = find(dim);
    if (!group->isSingle())
      return std::nullopt;
    result.contract.push_back(group->from);
  }
  return result;
}

/// Whether both split their batch dimensions in the same way.
static bool splitAlike(const Unreshaped &a, const Unreshaped &b) {
  Shape x = getShape(a.value), y = getShape(b.value);
  for (auto [g, h] : llvm::zip(a.batchGroups, b.batchGroups)) {
    if (g.fromCount != h.fromCount)
      return false;
    for (size_t i = 0; i < g.fromCount; ++i)
      if (!isEqual(x[g.from + i], y[h.from + i]))
        return false;
  }
  return true;
}

static bool keepsBatch(const Unreshaped &operand) {
  return llvm::all_of(operand.batchGroups, [](const ReshapeGroup &g) { return g.isSingle(); });
}

/// contract(reshape(x), y) = reshape(contract(x, y)): view, linear, view
static LogicalResult reshapeOfContraction(ContractOp op, PatternRewriter &b) {
  auto lhs = takeReshapeOff(op.getLhs(), op.getLhsBatch(), op.getLhsContract());
  auto rhs = takeReshapeOff(op.getRhs(), op.getRhsBatch(), op.getRhsContract());
  if (!lhs && !rhs)
    return failure();
  // Batch dimensions split on both sides alike, or on neither.
  if (!(lhs && rhs && splitAlike(*lhs, *rhs))) {
    if (lhs && !keepsBatch(*lhs))
      lhs.reset();
    if (rhs && !keepsBatch(*rhs))
      rhs.reset();
    if (!lhs && !rhs)
      return failure();
  }
  if (!lhs)
    lhs = Unreshaped{op.getLhs(), Dims(op.getLhsBatch()), Dims(op.getLhsContract()), {}};
  if (!rhs)
    rhs = Unreshaped{op.getRhs(), Dims(op.getRhsBatch()), Dims(op.getRhsContract()), {}};
  Value result = ContractOp::create(b, op.getLoc(), lhs->value, rhs->value, lhs->batch, rhs->batch, lhs->contract,
                                    rhs->contract);
  b.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), result, makeSizesAttr(getShape(op), b.getContext()));
  return success();
}

void addContraction(RewritePatternSet &rules) {
  rules.add(transposeOfContraction);
  rules.add(reshapeOfContraction);
}

} // namespace ptc::simplify
