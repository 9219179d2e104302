#include "compiler/schedule/Inline.h"

#include "compiler/schedule/Work.h"
#include "dialects/loop/Bodies.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

static int64_t countOps(Operation *member) {
  int64_t count = 0;
  for (Region &region : member->getRegions())
    for (Block &block : region)
      count += block.getOperations().size();
  return count;
}

/// The operation of the function's body that holds `user`.
static Operation *memberOf(Operation *user, Block &block) { return block.findAncestorOpInBlock(*user); }

namespace {
class Inliner {
public:
  Inliner(Block &block, ArrayRef<Symbol> symbols, InlineMode mode, const Limits &limits)
      : block(block), symbols(symbols), mode(mode), limits(limits) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!loop::isMember(&op))
        continue;
      if (op.use_empty()) {
        op.erase();
        continue;
      }
      bool changed = false;
      for (Region &region : op.getRegions())
        for (Block &body : region)
          changed |= inlineInto(&op, body);
      if (changed || mode == InlineMode::Views)
        tidyMember(&op, symbols);
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (loop::isMember(&op) && op.use_empty())
        op.erase();
  }

private:
  bool inlineInto(Operation *consumer, Block &body);
  bool wants(loop::MapOp producer, Operation *consumer);
  bool isWorthIt(loop::MapOp producer, Operation *consumer);

  Block &block;
  ArrayRef<Symbol> symbols;
  InlineMode mode;
  const Limits &limits;
};
} // namespace

static Location fuse(Location a, Location b) {
  return a == b ? a : FusedLoc::get(a.getContext(), {b, a});
}

bool Inliner::inlineInto(Operation *consumer, Block &body) {
  bool changed = false;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto read = llvm::dyn_cast<loop::ReadOp>(op);
    auto producer = read ? read.getTensor().getDefiningOp<loop::MapOp>() : loop::MapOp();
    if (!producer || !wants(producer, consumer))
      continue;
    Builder b(read.getLoc(), read);
    SmallVector<Value> ids;
    unsigned rank = getShape(read.getTensor()).size();
    for (unsigned i = 0; i < rank; ++i)
      ids.push_back(index(b, read.getMap().getResult(i), read.getIndices()));
    unsigned result = llvm::cast<OpResult>(read.getTensor()).getResultNumber();
    Value value = cloneBody(b, producer.getBody().front(), ids, read.getWhere())[result];
    if (read.getWhere())
      value = arith::SelectOp::create(b, read.getWhere(), value, read.getOtherwise());
    read.replaceAllUsesWith(value);
    read.erase();
    consumer->setLoc(fuse(consumer->getLoc(), producer.getLoc()));
    changed = true;
  }
  return changed;
}

/// Whether the map moves elements or makes numbers, and at most widens floats: its results are nowhere smaller than
/// what it reads.
static bool isView(loop::MapOp map, const Limits &limits) {
  Block &body = map.getBody().front();
  int64_t widenings = llvm::range_size(body.getOps<arith::ExtFOp>());
  return getWork(body, limits) == widenings && countOps(map) <= limits.viewOps;
}

bool Inliner::wants(loop::MapOp producer, Operation *consumer) {
  if (countOps(producer) + countOps(consumer) > limits.inlinedOps)
    return false;
  // A view is worth less than the memory that it would take.
  if (isView(producer, limits))
    return true;
  return mode == InlineMode::Values && isWorthIt(producer, consumer);
}

/// Reads of whole tensors that computing the producer again would repeat.
static unsigned countFullReads(loop::MapOp producer, ArrayRef<Symbol> symbols) {
  double domain = estimateCount(loop::getDomain(producer), symbols);
  unsigned count = 0;
  for (Operation &op : producer.getBody().front())
    if (auto read = llvm::dyn_cast<loop::ReadOp>(op))
      count += estimateCount(getShape(read.getTensor()), symbols) * 4 >= domain;
  return count;
}

static bool readsTemplate(loop::MapOp producer) {
  for (Operation &op : producer.getBody().front()) {
    auto read = llvm::dyn_cast<loop::ReadOp>(op);
    Operation *from = read ? read.getTensor().getDefiningOp() : nullptr;
    if (from && loop::isTemplate(from))
      return true;
  }
  return false;
}

bool Inliner::isWorthIt(loop::MapOp producer, Operation *consumer) {
  llvm::SmallSetVector<Operation *, 4> readers;
  llvm::SmallDenseSet<Attribute, 4> maps;
  bool inBody = true;
  for (Value result : producer.getResults())
    for (Operation *user : result.getUsers()) {
      Operation *member = memberOf(user, block);
      readers.insert(member);
      inBody &= member != user;
      if (auto read = llvm::dyn_cast<loop::ReadOp>(user); read && member == consumer)
        maps.insert(read.getMapAttr());
    }
  // Somebody needs it in memory: then reading it there is cheap, unless it is nearly nothing to compute.
  int64_t work = getWork(producer.getBody().front(), limits);
  if (!inBody)
    return false;
  double blowUp = estimateCount(loop::getDomain(consumer), symbols) /
                  std::max(1.0, estimateCount(loop::getDomain(producer), symbols)) * maps.size();
  if (readers.size() == 1 && blowUp <= 1.01)
    return true;
  bool mayJoinEpilogue = readsTemplate(producer);
  if (blowUp > 1.01)
    return work <= limits.repeatedWork && !mayJoinEpilogue && countFullReads(producer, symbols) <= 1;
  return work <= limits.cheapWork && !mayJoinEpilogue && countFullReads(producer, symbols) <= 1 && readers.size() <= 4;
}

void inlineProducers(Block &block, ArrayRef<Symbol> symbols, InlineMode mode, const Limits &limits) {
  Inliner(block, symbols, mode, limits).run();
}

} // namespace ptc::schedule
