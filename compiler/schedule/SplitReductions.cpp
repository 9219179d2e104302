#include "compiler/schedule/SplitReductions.h"

#include "compiler/schedule/Work.h"
#include "dialects/loop/Bodies.h"
#include "dialects/loop/StridedAccess.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

static bool isSplittable(loop::ReduceOp op) {
  // A body does not say that its integers are unsigned; the result's type does.
  if (elementType(op.getResult(0)).isUnsignedInteger())
    return false;
  return llvm::none_of(op.getKinds().getAsValueRange<StringAttr>(),
                       [](StringRef kind) { return kind.starts_with("arg"); });
}

/// A dimension of a reduction's sizes and the parts that it is cut into.
struct Cut {
  unsigned dim;
  int64_t parts;
};

/// A divisor near by spares the guards.
static Cut cutEvenly(ShapeRef sizes, unsigned dim, int64_t parts) {
  if (auto size = getConstant(sizes[dim])) {
    parts = std::min(parts, *size);
    for (int64_t candidate = parts; candidate > parts / 2; --candidate)
      if (*size % candidate == 0)
        return {dim, candidate};
  }
  return {dim, parts};
}

/// The longest dimension, where there are too few results to keep threads busy.
static std::optional<Cut> cutForThreads(loop::ReduceOp op, ArrayRef<Symbol> symbols, const Limits &limits) {
  Shape sizes = *getSizesFromAttr(op.getSizes());
  double results = estimateCount(getShape(op.getResult(0)), symbols), length = estimateCount(sizes, symbols);
  if (results >= limits.enoughResults || length * results < 4 * limits.leastPart || length < limits.leastLength)
    return std::nullopt;
  unsigned longest = 0;
  for (unsigned i = 1; i < sizes.size(); ++i)
    if (estimateCount(sizes[i], symbols) > estimateCount(sizes[longest], symbols))
      longest = i;
  auto parts = static_cast<int64_t>(length / limits.leastPart);
  return cutEvenly(sizes, longest, std::clamp<int64_t>(parts, 2, limits.parts));
}

/// Whether every read of the body walks its tensor element by element with dimension `dim` of the domain.
static bool readsAlong(loop::ReduceOp op, unsigned dim) {
  Block &body = op.getBody().front();
  bool reads = false;
  for (auto read : body.getOps<loop::ReadOp>()) {
    auto access = loop::getStridedAccess(read.getMap(), getShape(read.getTensor()));
    auto place = llvm::find(read.getIndices(), body.getArgument(dim));
    if (!access || place == read.getIndices().end() ||
        getConstant(access->strides[place - read.getIndices().begin()]) != 1)
      return false;
    reads = true;
  }
  return reads;
}

/// The outermost dimension, where rows of neighbouring elements are added up, as the mean of an image's channels: a
/// thread reads the rows that it has written. Threads that each take some columns read most of them from the caches of
/// others, which takes four times as long, and as long once more when those rows are written again. What goes on in the
/// same kernel with as many points would have to leave it.
static std::optional<Cut> cutRows(loop::ReduceOp op, ArrayRef<Symbol> symbols, const Limits &limits) {
  Shape domain = loop::getDomain(op), sizes = *getSizesFromAttr(op.getSizes());
  unsigned rank = getShape(op.getResult(0)).size();
  double points = estimateCount(domain, symbols);
  if (rank == 0 || points < limits.leastRowPoints || !readsAlong(op, rank - 1) ||
      estimateCount(ShapeRef(domain).take_front(rank - 1), symbols) > limits.fewImages ||
      estimateCount(ShapeRef(domain).take_front(rank), symbols) >= limits.enoughColumns)
    return std::nullopt;
  for (Operation *user : op->getUsers()) {
    Operation *member = op->getBlock()->findAncestorOpInBlock(*user);
    bool mayFuse = loop::isMember(member) && !loop::isTemplate(member);
    if (mayFuse && estimateCount(loop::getDomain(member), symbols) >= points)
      return std::nullopt;
  }
  unsigned outermost = 0;
  while (outermost + 1 < sizes.size() && getConstant(sizes[outermost]) == 1)
    ++outermost;
  int64_t parts = limits.rowParts;
  if (limits.leastRows > 0)
    parts = std::min(parts, static_cast<int64_t>(estimateCount(sizes, symbols)) / limits.leastRows);
  if (parts < 2)
    return std::nullopt;
  return cutEvenly(sizes, outermost, parts);
}

static loop::ReduceOp reduceParts(Builder &b, loop::ReduceOp op, Cut cut, ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  Shape result = getShape(op.getResult(0)), sizes = *getSizesFromAttr(op.getSizes());
  unsigned rank = result.size();
  AffineExpr whole = sizes[cut.dim], length = whole.ceilDiv(cut.parts);
  bool isExact = getConstant(whole) && *getConstant(whole) % cut.parts == 0;
  result.insert(result.begin(), getAffineConstantExpr(cut.parts, context));
  sizes[cut.dim] = length;
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Type> types;
  for (Value value : yield->getOperands())
    types.push_back(makeTensorType(result, value.getType()));
  auto partial = loop::ReduceOp::create(b, types, op.getKinds(), makeSizesAttr(sizes, context));
  buildRegion(b, partial.getBody(), 1 + rank + sizes.size(), {}, [&](ValueRange ids) {
    AffineExpr place = getAffineDimExpr(0, context) * length + getAffineDimExpr(1 + rank + cut.dim, context);
    SmallVector<Value> old(ids.drop_front(1));
    old[rank + cut.dim] = index(b, place, ids);
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

static void split(loop::ReduceOp op, Cut cut, ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  Builder b(op.getLoc(), op);
  loop::ReduceOp partial = reduceParts(b, op, cut, symbols);
  unsigned rank = getShape(op.getResult(0)).size();
  auto whole = loop::ReduceOp::create(b, op.getResultTypes(), op.getKinds(),
                                      makeSizesAttr(getAffineConstantExpr(cut.parts, context), context));
  buildRegion(b, whole.getBody(), rank + 1, {}, [&](ValueRange ids) {
    SmallVector<Value> places{ids.back()}, values;
    llvm::append_range(places, ids.drop_back());
    for (Value part : partial.getResults())
      values.push_back(read(b, part, places));
    return values;
  });
  whole.getFinish().takeBody(op.getFinish());
  tidyMember(whole, symbols);
  op.replaceAllUsesWith(whole.getResults());
  op.erase();
}

void splitReductions(Block &block, ArrayRef<Symbol> symbols, const Limits &limits) {
  for (auto op : llvm::make_early_inc_range(block.getOps<loop::ReduceOp>())) {
    if (!isSplittable(op))
      continue;
    std::optional<Cut> cut = cutForThreads(op, symbols, limits);
    if (!cut)
      cut = cutRows(op, symbols, limits);
    if (cut && cut->parts > 1)
      split(op, *cut, symbols);
  }
}

} // namespace ptc::schedule
