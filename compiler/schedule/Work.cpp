#include "compiler/schedule/Work.h"

#include "dialects/loop/Functions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace ptc::schedule {

static int64_t getWork(Operation &op, const Limits &limits) {
  if (llvm::isa<loop::ReadOp, loop::IndexOp, loop::CheckedIndexOp, loop::YieldOp, arith::ConstantOp,
                arith::IndexCastOp>(op))
    return 0;
  if (llvm::isa<arith::DivFOp, math::SqrtOp>(op))
    return limits.division;
  if (llvm::isa<loop::SpecialOp>(op))
    return limits.special;
  if (llvm::isa<arith::DivSIOp, arith::RemSIOp, arith::RemFOp>(op))
    return limits.integerDivision;
  if (llvm::isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::TruncOp, math::RoundEvenOp,
                math::CopySignOp, math::IsFiniteOp>(op))
    return 1;
  if (llvm::isa<loop::Atan2Op>(op) || llvm::isa_and_present<math::MathDialect>(op.getDialect()))
    return limits.function;
  // Comparisons of indices are decided once for a vector.
  if (llvm::any_of(op.getOperandTypes(), [](Type type) { return type.isIndex(); }))
    return 0;
  bool onConditions = llvm::all_of(op.getOperandTypes(), [](Type type) { return type.isInteger(1); });
  return onConditions ? 0 : 1;
}

int64_t getWork(Block &body, const Limits &limits) {
  int64_t work = 0;
  for (Operation &op : body)
    work += getWork(op, limits);
  return work;
}

bool isMove(Block &body) { return getWork(body, {}) == 0; }

double estimateCount(ShapeRef sizes, ArrayRef<Symbol> symbols) {
  SmallVector<int64_t> typical;
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    int64_t most =
        sizes.empty() ? symbol.max : getRange(getAffineSymbolExpr(position, sizes[0].getContext()), symbols).max;
    typical.push_back(std::min(std::max<int64_t>(symbol.min, 64), most));
  }
  double count = 1;
  for (AffineExpr size : sizes)
    count *= static_cast<double>(getConstant(size) ? *getConstant(size) : evaluate(size, typical));
  return count;
}

} // namespace ptc::schedule
