//===- SplitReductions.cpp ------------------------------------------------===//

#include "compiler/schedule/SplitReductions.h"

#include "compiler/schedule/Bodies.h"
#include "compiler/schedule/Work.h"

using namespace mlir;

namespace ptc::schedule {

// As many results as this keep enough threads busy.
static constexpr double kEnoughResults = 32;
// A part should be long against starting it.
static constexpr double kLeastPart = 8192;
static constexpr int64_t kParts = 64;

static bool isSplittable(loop::ReduceOp op) {
  // A body does not say that its integers are unsigned; the result's type does.
  if (elementType(op.getResult(0)).isUnsignedInteger())
    return false;
  return llvm::none_of(op.getKinds().getAsValueRange<StringAttr>(),
                       [](StringRef kind) { return kind.starts_with("arg"); });
}

/// The dimension of `sizes` to cut, the longest, and the parts it is cut into.
static std::optional<std::pair<unsigned, int64_t>> chooseCut(loop::ReduceOp op, ArrayRef<Symbol> symbols) {
  Shape sizes = *getSizesFromAttr(op.getSizes());
  double results = estimateCount(getShape(op.getResult(0)), symbols), length = estimateCount(sizes, symbols);
  if (results >= kEnoughResults || length * results < 4 * kLeastPart || !isSplittable(op))
    return std::nullopt;
  unsigned longest = 0;
  for (unsigned i = 1; i < sizes.size(); ++i)
    if (estimateCount(sizes[i], symbols) > estimateCount(sizes[longest], symbols))
      longest = i;
  int64_t parts = std::clamp<int64_t>(static_cast<int64_t>(length / kLeastPart), 2, kParts);
  if (auto size = getConstant(sizes[longest])) {
    parts = std::min(parts, *size);
    // A divisor near by spares the guards.
    for (int64_t candidate = parts; candidate > parts / 2; --candidate)
      if (*size % candidate == 0)
        return std::pair(longest, candidate);
  }
  return std::pair(longest, parts);
}

static loop::ReduceOp reduceParts(Builder &b, loop::ReduceOp op, unsigned cut, int64_t parts,
                                  ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  Shape result = getShape(op.getResult(0)), sizes = *getSizesFromAttr(op.getSizes());
  unsigned rank = result.size();
  AffineExpr whole = sizes[cut], length = whole.ceilDiv(parts);
  bool isExact = getConstant(whole) && *getConstant(whole) % parts == 0;
  result.push_back(getAffineConstantExpr(parts, context));
  sizes[cut] = length;
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Type> types;
  for (Value value : yield->getOperands())
    types.push_back(makeTensorType(result, value.getType()));
  auto partial = loop::ReduceOp::create(b, types, op.getKinds(), makeSizesAttr(sizes, context));
  buildRegion(b, partial.getBody(), rank + 1 + sizes.size(), {}, [&](ValueRange ids) {
    AffineExpr place = getAffineDimExpr(rank, context) * length + getAffineDimExpr(rank + 1 + cut, context);
    SmallVector<Value> old(ids.take_front(rank));
    llvm::append_range(old, ids.drop_front(rank + 1));
    old[rank + cut] = index(b, place, ids);
    if (isExact)
      return cloneBody(b, op.getBody().front(), old);
    Value inside = compare(b, arith::CmpIPredicate::slt, place, whole, ids);
    SmallVector<Value> values = cloneBody(b, op.getBody().front(), old, inside);
    for (auto [value, kind] : llvm::zip(values, op.getKinds().getAsValueRange<StringAttr>()))
      value =
          arith::SelectOp::create(b, inside, value, neutral(b, kind, value.getType(), value.getType().isInteger(1)));
    return values;
  });
  tidyMember(partial, symbols);
  return partial;
}

static void split(loop::ReduceOp op, unsigned cut, int64_t parts, ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  Builder b(op.getLoc(), op);
  loop::ReduceOp partial = reduceParts(b, op, cut, parts, symbols);
  unsigned rank = getShape(op.getResult(0)).size();
  auto whole = loop::ReduceOp::create(b, op.getResultTypes(), op.getKinds(),
                                      makeSizesAttr(getAffineConstantExpr(parts, context), context));
  buildRegion(b, whole.getBody(), rank + 1, {}, [&](ValueRange ids) {
    SmallVector<Value> values;
    for (Value part : partial.getResults())
      values.push_back(read(b, part, ids));
    return values;
  });
  whole.getFinish().takeBody(op.getFinish());
  tidyMember(whole, symbols);
  op.replaceAllUsesWith(whole.getResults());
  op.erase();
}

void splitReductions(Block &block, ArrayRef<Symbol> symbols) {
  for (auto op : llvm::make_early_inc_range(block.getOps<loop::ReduceOp>()))
    if (auto cut = chooseCut(op, symbols))
      split(op, cut->first, cut->second, symbols);
}

} // namespace ptc::schedule
