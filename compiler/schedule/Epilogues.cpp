#include "compiler/schedule/Epilogues.h"

#include "dialects/loop/Bodies.h"
#include "dialects/loop/StridedAccess.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

namespace {
class EpilogueFuser {
public:
  EpilogueFuser(Block &block, ArrayRef<Symbol> symbols, const Limits &limits)
      : block(block), symbols(symbols), limits(limits) {}

  void run() {
    SmallVector<Operation *> hosts;
    for (Operation &op : block)
      if ((loop::isTemplate(&op) && loop::getResultRegion(&op)) || llvm::isa<loop::ReduceOp>(op))
        hosts.push_back(&op);
    for (Operation *host : hosts) {
      bool mayReshape = true;
      while (Operation *grown = growOnce(host, mayReshape))
        host = grown;
    }
    // A host now stands where its last map stood.
    sortTopologically(&block);
  }

private:
  /// Null when nothing more can be done. Between two shapes that readers want, a host changes once: `mayReshape` is
  /// true again when it has absorbed a map.
  Operation *growOnce(Operation *host, bool &mayReshape);
  bool canAbsorb(Operation *host, loop::MapOp map);
  bool dependsOn(Operation *op, Operation *on, Operation *exceptDirectly);
  Operation *absorb(Operation *host, loop::MapOp map);

  Block &block;
  ArrayRef<Symbol> symbols;
  const Limits &limits;
};
} // namespace

/// Calls `visit` with every value from outside that the member uses.
static void forEachSource(Operation *member, llvm::function_ref<void(Value)> visit) {
  member->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentRegion() == member->getParentRegion())
        visit(operand);
  });
}

/// Whether `op` needs `on` other than by reading it directly.
bool EpilogueFuser::dependsOn(Operation *op, Operation *on, Operation *exceptDirectly) {
  llvm::SmallPtrSet<Operation *, 32> seen;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    bool found = false;
    forEachSource(next, [&](Value value) {
      Operation *source = value.getDefiningOp();
      if (!source)
        return;
      if (source == on)
        found |= next != exceptDirectly;
      else if (seen.insert(source).second)
        work.push_back(source);
    });
    if (found)
      return true;
  }
  return false;
}

static Region &hostRegion(Operation *host) {
  auto reduce = llvm::dyn_cast<loop::ReduceOp>(host);
  return reduce ? reduce.getFinish() : host->getRegion(0);
}

static int64_t countOps(Region &region) { return region.empty() ? 0 : region.front().getOperations().size(); }

static bool sameSizes(Value a, Value b) {
  Shape x = getShape(a), y = getShape(b);
  return x.size() == y.size() &&
         llvm::all_of(llvm::zip(x, y), [](auto pair) { return isEqual(std::get<0>(pair), std::get<1>(pair)); });
}

bool EpilogueFuser::canAbsorb(Operation *host, loop::MapOp map) {
  if (!map || !sameSizes(map.getResult(0), host->getResult(0)) ||
      countOps(map.getBody()) + countOps(hostRegion(host)) > limits.epilogueOps)
    return false;
  unsigned rank = getShape(host->getResult(0)).size();
  for (Operation &op : map.getBody().front()) {
    auto read = llvm::dyn_cast<loop::ReadOp>(op);
    if (read && read.getTensor().getDefiningOp() == host && !isIdentityRead(read, rank))
      return false;
  }
  // The results that only this map reads will go.
  unsigned stay = 0;
  for (Value result : host->getResults())
    stay += llvm::any_of(result.getUsers(), [&](Operation *user) { return !map->isProperAncestor(user); });
  if (stay + map.getNumResults() > limits.epilogueResults)
    return false;
  return !dependsOn(map, host, map);
}

/// A reduction without finish gets the one that does nothing.
static void materializeFinish(loop::ReduceOp reduce) {
  if (!reduce.getFinish().empty())
    return;
  Builder b(reduce.getLoc(), reduce.getContext());
  SmallVector<Type> types;
  for (Value result : reduce.getResults())
    types.push_back(loop::getScalarType(result));
  unsigned rank = getShape(reduce.getResult(0)).size();
  buildRegion(b, reduce.getFinish(), rank, types,
              [&](ValueRange args) { return SmallVector<Value>(args.drop_front(rank)); });
}

Operation *EpilogueFuser::absorb(Operation *host, loop::MapOp map) {
  if (auto reduce = llvm::dyn_cast<loop::ReduceOp>(host))
    materializeFinish(reduce);
  unsigned rank = getShape(host->getResult(0)).size();
  Region &region = hostRegion(host);
  Operation *yield = region.front().getTerminator();
  Builder b(map.getLoc(), yield);
  SmallVector<Value> values = cloneBody(b, map.getBody().front(), region.getArguments().take_front(rank));
  SmallVector<Value> yielded(yield->getOperands());
  // Reads of the host are what it yields at the same point.
  for (Operation &op : llvm::make_early_inc_range(region.front())) {
    auto read = llvm::dyn_cast<loop::ReadOp>(op);
    if (!read || read.getTensor().getDefiningOp() != host)
      continue;
    Value element = yielded[llvm::cast<OpResult>(read.getTensor()).getResultNumber()];
    for (Value &value : values)
      if (value == read.getValue())
        value = element;
    read.replaceAllUsesWith(element);
    read.erase();
  }

  SmallVector<Value> keptElements, keptResults;
  auto results = loop::getYieldedResults(host);
  for (auto [i, result] : llvm::enumerate(results))
    if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !map->isProperAncestor(user); })) {
      keptResults.push_back(result);
      keptElements.push_back(yielded[i]);
    }
  llvm::append_range(keptResults, map.getResults());
  llvm::append_range(keptResults, host->getResults().drop_front(results.size()));
  llvm::append_range(keptElements, values);
  yield->setOperands(keptElements);

  Location loc = FusedLoc::get(map.getContext(), {host->getLoc(), map.getLoc()});
  OperationState state(loc, host->getName(), host->getOperands(), ValueRange(keptResults).getTypes(), {});
  state.attributes = host->getDiscardableAttrDictionary();
  state.propertiesAttr = host->getPropertiesAsAttribute();
  for (Region &from : host->getRegions())
    state.addRegion()->takeBody(from);
  OpBuilder builder(map);
  Operation *grown = builder.create(state);
  for (auto [old, fresh] : llvm::zip(keptResults, grown->getResults()))
    old.replaceAllUsesWith(fresh);
  map.erase();
  host->erase();
  tidyMember(grown, symbols);
  return grown;
}

//===----------------------------------------------------------------------===//
// Contractions whose rows or columns are read apart
//===----------------------------------------------------------------------===//

/// For each of `from`, how many of `to` multiply to it; nullopt where they do not.
static std::optional<SmallVector<unsigned>> matchRuns(ShapeRef from, ShapeRef to) {
  SmallVector<unsigned> runs;
  unsigned next = 0;
  for (auto [i, size] : llvm::enumerate(from)) {
    unsigned first = next;
    AffineExpr run = getAffineConstantExpr(1, size.getContext());
    bool isLast = i + 1 == from.size();
    while (next < to.size() && (!isEqual(run, size) || isLast))
      run = run * to[next++];
    if (!isEqual(run, size))
      return std::nullopt;
    runs.push_back(next - first);
  }
  return next == to.size() ? std::optional(runs) : std::nullopt;
}

/// Whether the map reads the host's result in row-major order, though under another shape.
static bool readsReshaped(Operation *host, loop::MapOp map, ArrayRef<Symbol> symbols) {
  Shape to = getShape(map.getResult(0));
  bool reads = false;
  for (Operation &op : map.getBody().front()) {
    auto read = llvm::dyn_cast<loop::ReadOp>(op);
    if (!read || read.getTensor().getDefiningOp() != host)
      continue;
    reads = true;
    if (read.getWhere() || read.getIndices().size() != to.size())
      return false;
    AffineMap identity = makeIndexMap(to.size(), makeDims(to.size(), host->getContext()), host->getContext());
    IndexBounds bounds{to, symbols};
    AffineExpr difference = loop::linearize(read.getMap(), getShape(read.getTensor())) - loop::linearize(identity, to);
    if (getConstant(simplifyIndex(difference, bounds)) != 0)
      return false;
  }
  return reads;
}

/// The same contraction with each dimension of its result cut as `runs` says; its readers are mapped.
static loop::ContractOp reshapeContract(loop::ContractOp op, ShapeRef to, ArrayRef<unsigned> runs,
                                        ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  unsigned next = 0, kCount = getSizesFromAttr(op.getKSizes())->size(), ranks[3] = {0, 0, 0};
  SmallVector<AffineExpr> places; // of the old dimensions
  for (auto [i, run] : llvm::enumerate(runs)) {
    AffineExpr place = getAffineConstantExpr(0, context);
    for (unsigned j = 0; j < run; ++j, ++next)
      place = place * to[next] + getAffineDimExpr(next, context);
    places.push_back(place);
    ranks[i < op.getBatchRank() ? 0 : i < op.getBatchRank() + op.getMRank() ? 1 : 2] += run;
  }
  for (unsigned k = 0; k < kCount; ++k)
    places.push_back(getAffineDimExpr(next + k, context));
  Shape domain(to.begin(), to.end());
  llvm::append_range(domain, *getSizesFromAttr(op.getKSizes()));
  auto compose = [&](AffineMap map) {
    Shape results;
    for (AffineExpr result : map.getResults())
      results.push_back(simplifyIndex(result.replaceDims(places), {domain, symbols}));
    return makeIndexMap(domain.size(), results, context);
  };
  SmallVector<Type> types;
  for (Value result : op.getResults())
    types.push_back(makeTensorType(to, elementType(result)));
  Builder b(op.getLoc(), op);
  auto reshaped =
      loop::ContractOp::create(b, types, op.getLhs(), op.getRhs(), compose(op.getLhsMap()), compose(op.getRhsMap()),
                               ranks[0], ranks[1], ranks[2], op.getKSizes());
  buildRegion(b, reshaped.getEpilogue(), to.size(),
              op.getEpilogue().getArgument(op.getEpilogue().getNumArguments() - 1).getType(), [&](ValueRange args) {
                SmallVector<Value> old;
                for (unsigned i = 0; i < runs.size(); ++i)
                  old.push_back(index(b, places[i], args.drop_back()));
                old.push_back(args.back());
                return cloneBody(b, op.getEpilogue().front(), old);
              });
  tidyMember(reshaped, symbols);
  return reshaped;
}

/// Makes `map` read the contraction at its own indices, if a cut of the contraction's dimensions allows it.
static Operation *reshapeFor(Operation *host, loop::MapOp map, ArrayRef<Symbol> symbols) {
  auto contract = llvm::dyn_cast<loop::ContractOp>(host);
  if (!contract || !readsReshaped(host, map, symbols))
    return nullptr;
  Shape from = getShape(host->getResult(0)), to = getShape(map.getResult(0));
  auto runs = matchRuns(from, to);
  if (!runs || from.size() == to.size())
    return nullptr;
  loop::ContractOp reshaped = reshapeContract(contract, to, *runs, symbols);
  for (auto [old, fresh] : llvm::zip(host->getResults(), reshaped.getResults()))
    for (OpOperand &use : llvm::make_early_inc_range(old.getUses())) {
      // Only reads: the caller has seen to that.
      auto read = llvm::cast<loop::ReadOp>(use.getOwner());
      Shape places;
      unsigned next = 0;
      for (auto [i, run] : llvm::enumerate(*runs)) {
        AffineExpr rest = read.getMap().getResult(i);
        Shape reversed;
        for (unsigned j = run; j-- > 0;) {
          AffineExpr size = to[next + j];
          reversed.push_back(j == 0 ? rest : rest % size);
          rest = rest.floorDiv(size);
        }
        places.append(reversed.rbegin(), reversed.rend());
        next += run;
      }
      read.setMapAttr(AffineMapAttr::get(makeIndexMap(read.getIndices().size(), places, host->getContext())));
      use.set(fresh);
    }
  llvm::SetVector<Operation *> readers;
  for (Operation *user : reshaped->getUsers())
    readers.insert(host->getBlock()->findAncestorOpInBlock(*user));
  for (Operation *reader : readers)
    tidyMember(reader, symbols);
  host->erase();
  return reshaped;
}

Operation *EpilogueFuser::growOnce(Operation *host, bool &mayReshape) {
  bool allReads = true;
  SmallVector<loop::MapOp> readers;
  for (Value result : host->getResults())
    for (Operation *user : result.getUsers()) {
      auto map = llvm::dyn_cast<loop::MapOp>(block.findAncestorOpInBlock(*user));
      allReads &= llvm::isa<loop::ReadOp>(user);
      if (map && !llvm::is_contained(readers, map))
        readers.push_back(map);
    }
  for (loop::MapOp map : readers) {
    if (canAbsorb(host, map)) {
      mayReshape = true;
      return absorb(host, map);
    }
    if (allReads && mayReshape)
      if (Operation *reshaped = reshapeFor(host, map, symbols)) {
        mayReshape = false;
        return reshaped;
      }
  }
  return nullptr;
}

void fuseEpilogues(Block &block, ArrayRef<Symbol> symbols, const Limits &limits) {
  EpilogueFuser(block, symbols, limits).run();
}

} // namespace ptc::schedule
