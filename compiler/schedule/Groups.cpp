//===- Groups.cpp ---------------------------------------------------------===//
//
// Groups are numbered in the order in which they run. An operation may join any
// group that does not run before one it reads from; among those where it is
// legal it takes the one that spares most memory traffic.
//
//===----------------------------------------------------------------------===//

#include "compiler/schedule/Groups.h"

#include "compiler/schedule/HoistSizes.h"
#include "compiler/schedule/Work.h"
#include "dialects/control/Control.h"
#include "dialects/core/TensorBytes.h"
#include "dialects/loop/Bodies.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

bool isControl(Operation *op) {
  return op->getName().getDialectNamespace() == "control" && !isa<control::FusionBarrierOp>(op);
}

namespace {
class Grouper {
public:
  Grouper(Block &block, ArrayRef<Symbol> symbols, bool isPlain, const Limits &limits)
      : block(block), symbols(symbols), isPlain(isPlain), limits(limits),
        definers(findSizeDefiners(cast<func::FuncOp>(block.getParentOp()))) {}

  std::vector<Group> run() {
    for (Operation &op : block)
      if (loop::isMember(&op) || isControl(&op))
        place(&op);
    return std::move(groups);
  }

private:
  void place(Operation *op);
  std::optional<unsigned> outerWith(Operation *op, unsigned group);
  double savedBytes(Operation *op, unsigned group);

  Block &block;
  ArrayRef<Symbol> symbols;
  bool isPlain;
  const Limits &limits;
  SmallVector<SizeDefiner> definers;
  std::vector<Group> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
  llvm::DenseMap<Value, SmallVector<unsigned, 2>> readers; ///< groups that read a tensor
};
} // namespace

/// The dimensions of an operation that may be outer: the whole of its result's, those before a scan.
static Shape shareableDims(Operation *op) {
  Shape sizes = getShape(op->getResult(0));
  if (auto scan = llvm::dyn_cast<loop::ScanOp>(op))
    sizes.truncate(scan.getDim());
  return sizes;
}

static bool mayShare(Operation *op) {
  auto reduce = llvm::dyn_cast<loop::ReduceOp>(op);
  return reduce ? reduce.getInner() == 0 : llvm::isa<loop::MapOp, loop::ScanOp>(op);
}

template <typename Visit> static void forEachRead(Operation *op, Visit visit) {
  for (Region &region : op->getRegions())
    for (Block &body : region)
      for (auto read : body.getOps<loop::ReadOp>())
        visit(read);
}

/// How many of the first dimensions the read takes from the reader's indices unchanged.
static unsigned identicalDims(loop::ReadOp read) {
  unsigned count = 0;
  Shape sizes = getShape(read.getTensor());
  for (AffineExpr place : read.getMap().getResults()) {
    auto dim = llvm::dyn_cast<AffineDimExpr>(place);
    auto argument = dim ? llvm::dyn_cast<BlockArgument>(read.getIndices()[dim.getPosition()]) : BlockArgument();
    bool same = argument && argument.getOwner() == read->getBlock() && argument.getArgNumber() == count;
    bool isUnit = getConstant(sizes[count]) == 1 && getConstant(place) == 0;
    if (!same && !isUnit)
      break;
    ++count;
  }
  return count;
}

static double tensorBytes(Value value, ArrayRef<Symbol> symbols) {
  return getElementBytes(elementType(value)) * estimateCount(getShape(value), symbols);
}

/// The dimensions that `op` would share with the group; nullopt where it must not join.
std::optional<unsigned> Grouper::outerWith(Operation *op, unsigned index) {
  Group &group = groups[index];
  if (group.members.size() >= limits.mostMembers || !mayShare(group.members.front()))
    return std::nullopt;
  Shape mine = shareableDims(op);
  unsigned outer = 0, most = std::min(mine.size(), group.outer.size());
  while (outer < most && isEqual(mine[outer], group.outer[outer]))
    ++outer;
  forEachRead(op, [&](loop::ReadOp read) {
    Operation *source = read.getTensor().getDefiningOp();
    if (source && groupOf.count(source) && groupOf[source] == index)
      outer = std::min(outer, identicalDims(read));
  });
  double iterations = estimateCount(ShapeRef(group.outer).take_front(outer), symbols);
  double points = estimateCount(loop::getDomain(op), symbols), local = 0;
  for (Operation *member : group.members) {
    points = std::max(points, estimateCount(loop::getDomain(member), symbols));
    for (Value result : member->getResults())
      local += tensorBytes(result, symbols) / iterations;
  }
  bool isTiny = points <= limits.tinyDomain;
  bool losesNothing = outer == group.outer.size() && outer == mine.size();
  if (!isTiny && !losesNothing && (iterations < limits.enoughOuter || local > limits.localBytes))
    return std::nullopt;
  if (outer == 0 && !isTiny)
    return std::nullopt;
  return outer;
}

/// Memory traffic that goes when `op` runs in the group.
double Grouper::savedBytes(Operation *op, unsigned index) {
  double saved = 0;
  llvm::SmallPtrSet<Value, 8> counted;
  forEachRead(op, [&](loop::ReadOp read) {
    Value tensor = read.getTensor();
    if (!counted.insert(tensor).second)
      return;
    Operation *source = tensor.getDefiningOp();
    bool isOwn = source && groupOf.count(source) && groupOf[source] == index;
    auto found = readers.find(tensor);
    bool isRead = found != readers.end() && llvm::is_contained(found->second, index);
    if (isOwn || isRead)
      saved += tensorBytes(tensor, symbols);
  });
  return saved;
}

void Grouper::place(Operation *op) {
  unsigned earliest = 0;
  SmallVector<unsigned> candidates;
  llvm::SmallPtrSet<Value, 8> sources;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == &block)
        sources.insert(operand);
  });
  for (Value source : sources) {
    if (auto barrier = source.getDefiningOp<control::FusionBarrierOp>()) {
      if (Operation *producer = barrier.getX().getDefiningOp())
        earliest = std::max(earliest, groupOf[producer] + 1);
    } else if (Operation *producer = source.getDefiningOp()) {
      earliest = std::max(earliest, groupOf[producer]);
      candidates.push_back(groupOf[producer]);
    }
    llvm::append_range(candidates, readers[source]);
  }
  // A kernel begins with its sizes: what computes them has run.
  for (const SizeDefiner &definer : definers)
    if (groupOf.count(definer.op) && needsSize(op, definer.symbol, symbols))
      earliest = std::max(earliest, groupOf[definer.op] + 1);
  llvm::sort(candidates);
  candidates.erase(llvm::unique(candidates), candidates.end());

  std::optional<unsigned> best;
  unsigned bestOuter = 0;
  double bestSaved = 0;
  for (unsigned candidate : !isPlain && mayShare(op) ? ArrayRef<unsigned>(candidates) : ArrayRef<unsigned>()) {
    if (candidate < earliest)
      continue;
    double saved = savedBytes(op, candidate);
    if (saved <= bestSaved)
      continue;
    if (auto outer = outerWith(op, candidate)) {
      best = candidate;
      bestOuter = *outer;
      bestSaved = saved;
    }
  }
  if (!best) {
    best = groups.size();
    groups.push_back({{}, mayShare(op) ? shareableDims(op) : Shape()});
    bestOuter = groups.back().outer.size();
  }
  groups[*best].members.push_back(op);
  groups[*best].outer.truncate(bestOuter);
  groupOf[op] = *best;
  for (Value source : sources)
    if (!llvm::is_contained(readers[source], *best))
      readers[source].push_back(*best);
}

std::vector<Group> groupMembers(Block &block, ArrayRef<Symbol> symbols, bool isPlain, const Limits &limits) {
  return Grouper(block, symbols, isPlain, limits).run();
}

} // namespace ptc::schedule
