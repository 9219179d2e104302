#include "compiler/schedule/GatheredContractions.h"

#include "compiler/schedule/Work.h"
#include "dialects/loop/Bodies.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

/// A map that moves elements from places that data tells, and does nothing else.
static bool isGather(Value value) {
  auto map = value.getDefiningOp<loop::MapOp>();
  if (!map || !map->hasOneUse() || !isMove(map.getBody().front()))
    return false;
  return !map.getBody().front().getOps<loop::CheckedIndexOp>().empty();
}

static bool isOne(ShapeRef sizes) {
  return llvm::all_of(sizes, [](AffineExpr size) { return getConstant(size) == 1; });
}

/// One row with a gathered matrix, or a matrix with one column.
static bool isWorthIt(loop::ContractOp op) {
  Shape domain = loop::getDomain(op);
  ShapeRef m = ShapeRef(domain).slice(op.getBatchRank(), op.getMRank());
  ShapeRef n = ShapeRef(domain).slice(op.getBatchRank() + op.getMRank(), op.getNRank());
  return (isOne(m) && isGather(op.getRhs())) || isOne(n);
}

/// Of the matrices that a contraction gathers, how many there are to choose from; nullopt where an operand is none.
static std::optional<int64_t> countChoices(Value value) {
  if (!isGather(value))
    return std::nullopt;
  int64_t choices = 1;
  for (auto index : value.getDefiningOp<loop::MapOp>().getBody().front().getOps<loop::CheckedIndexOp>()) {
    auto size = getConstant(getSizeFromAttr(index.getSize()));
    if (!size || llvm::MulOverflow(choices, *size, choices))
      return std::nullopt;
  }
  return choices;
}

/// Whether the batch must choose most matrices several times, and a matrix leaves the caches between two times.
static bool repeatsMatrices(loop::ContractOp op, ArrayRef<Symbol> symbols) {
  constexpr double kTimes = 2, kLeastElements = 1 << 14;
  Shape domain = loop::getDomain(op);
  double batch = estimateCount(ShapeRef(domain).take_front(op.getBatchRank()), symbols);
  double matrix = estimateCount(ShapeRef(domain).drop_front(op.getBatchRank()), symbols);
  return matrix >= kLeastElements && llvm::any_of(ValueRange{op.getLhs(), op.getRhs()}, [&](Value operand) {
    auto choices = countChoices(operand);
    return choices && batch >= kTimes * *choices;
  });
}

static void reduceGathered(loop::ContractOp op, ArrayRef<Symbol> symbols) {
  Builder b(op.getLoc(), op);
  unsigned domain = loop::getDomain(op).size();
  // Matrices that are picked again: a row meets all that picked it while it is cached.
  uint64_t inner = repeatsMatrices(op, symbols) ? op.getBatchRank() : 0;
  auto reduce = loop::ReduceOp::create(b, op.getResultTypes(), b.getStrArrayAttr({"sum"}), op.getKSizes(), inner);
  buildRegion(b, reduce.getBody(), domain, {}, [&](ValueRange ids) {
    Value x = widen(b, read(b, op.getLhs(), op.getLhsMap().getResults(), ids));
    Value y = widen(b, read(b, op.getRhs(), op.getRhsMap().getResults(), ids));
    return SmallVector<Value>{arith::MulFOp::create(b, x, y)};
  });
  // An epilogue and a finish have the same arguments: the indices, then what was accumulated.
  reduce.getFinish().takeBody(op.getEpilogue());
  tidyMember(reduce, symbols);
  op.replaceAllUsesWith(reduce.getResults());
  op.erase();
}

void reduceGatheredContractions(Block &block, ArrayRef<Symbol> symbols) {
  for (auto op : llvm::make_early_inc_range(block.getOps<loop::ContractOp>()))
    if (isWorthIt(op))
      reduceGathered(op, symbols);
}

} // namespace ptc::schedule
