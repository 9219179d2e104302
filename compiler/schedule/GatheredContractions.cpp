//===- GatheredContractions.cpp -------------------------------------------===//

#include "compiler/schedule/GatheredContractions.h"

#include "compiler/schedule/Bodies.h"
#include "compiler/schedule/Work.h"

using namespace mlir;

namespace ptc::schedule {

/// A map that moves elements from places that data tells, and does nothing else.
static bool isGather(Value value) {
  auto map = value.getDefiningOp<loop::MapOp>();
  if (!map || !map->hasOneUse() || getWork(map.getBody().front()) > 0)
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

static void reduceGathered(loop::ContractOp op, ArrayRef<Symbol> symbols) {
  Builder b(op.getLoc(), op);
  unsigned domain = loop::getDomain(op).size();
  auto reduce = loop::ReduceOp::create(b, op.getResultTypes(), b.getStrArrayAttr({"sum"}), op.getKSizes());
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
