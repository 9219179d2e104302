#include "compiler/schedule/Inline.h"

#include "compiler/schedule/Work.h"
#include "dialects/loop/Bodies.h"
#include "dialects/loop/StridedAccess.h"

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

static bool isView(loop::MapOp map, const Limits &limits) {
  Block &body = map.getBody().front();
  return isMove(body) && countOps(map) <= limits.viewOps;
}

bool Inliner::wants(loop::MapOp producer, Operation *consumer) {
  if (countOps(producer) + countOps(consumer) > limits.inlinedOps)
    return false;
  // What only moves or makes numbers is worth less than the memory that it would take.
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

//===----------------------------------------------------------------------===//
// Operands of templates
//===----------------------------------------------------------------------===//

/// The read that is all a view does: no guard, no index from data.
static loop::ReadOp onlyRead(Value value) {
  auto map = value.getDefiningOp<loop::MapOp>();
  if (!map || map.getNumResults() != 1)
    return {};
  Block &body = map.getBody().front();
  auto read = body.getTerminator()->getOperand(0).getDefiningOp<loop::ReadOp>();
  bool plain = read && read->getBlock() == &body && !read.getWhere() &&
               read.getIndices().size() == body.getNumArguments();
  return plain && elementType(read.getTensor()) == elementType(value) ? read : loop::ReadOp();
}

static AffineMap composeMaps(AffineMap outer, AffineMap inner, ShapeRef sizes, ArrayRef<Symbol> symbols) {
  Shape results;
  for (AffineExpr result : outer.getResults())
    results.push_back(simplifyIndex(result.replaceDims(inner.getResults()), {sizes, symbols}));
  return makeIndexMap(inner.getNumDims(), results, inner.getContext());
}

/// Cuts dimension d of k in two, where the map divides it by its inner size.
static bool splitReduction(loop::ContractOp op, AffineMap map, ArrayRef<Symbol> symbols) {
  MLIRContext *context = op.getContext();
  unsigned outer = getShape(op.getResult(0)).size();
  Shape kSizes = *getSizesFromAttr(op.getKSizes());
  for (unsigned i = 0; i < kSizes.size(); ++i) {
    AffineExpr dim = getAffineDimExpr(outer + i, context), divisor;
    for (AffineExpr result : map.getResults())
      result.walk([&](AffineExpr e) {
        auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(e);
        bool divides = binary && (e.getKind() == AffineExprKind::FloorDiv || e.getKind() == AffineExprKind::Mod);
        if (divides && binary.getLHS() == dim)
          divisor = binary.getRHS();
      });
    auto size = getConstant(kSizes[i]), by = divisor ? getConstant(divisor) : std::nullopt;
    if (!size || !by || *by <= 1 || *size % *by || *size == *by)
      continue;
    SmallVector<AffineExpr> dims;
    for (unsigned d = 0; d < outer + kSizes.size(); ++d)
      dims.push_back(getAffineDimExpr(d > outer + i ? d + 1 : d, context));
    dims[outer + i] = getAffineDimExpr(outer + i, context) * *by + getAffineDimExpr(outer + i + 1, context);
    kSizes[i] = getAffineConstantExpr(*size / *by, context);
    kSizes.insert(kSizes.begin() + i + 1, divisor);
    op.setKSizesAttr(makeSizesAttr(kSizes, context));
    Shape domain = loop::getDomain(op);
    AffineMap split = makeIndexMap(domain.size(), dims, context);
    op.setLhsMapAttr(AffineMapAttr::get(composeMaps(op.getLhsMap(), split, domain, symbols)));
    op.setRhsMapAttr(AffineMapAttr::get(composeMaps(op.getRhsMap(), split, domain, symbols)));
    return true;
  }
  return false;
}

namespace {
/// An operand of a template and the name of its index map.
struct MappedOperand {
  OpOperand *operand;
  StringRef map;
};
} // namespace

static SmallVector<MappedOperand> mappedOperands(Operation *op) {
  if (auto contract = llvm::dyn_cast<loop::ContractOp>(op))
    return {{&contract.getLhsMutable(), "lhs_map"}, {&contract.getRhsMutable(), "rhs_map"}};
  if (auto attention = llvm::dyn_cast<loop::AttentionOp>(op)) {
    SmallVector<MappedOperand> all{
        {&attention.getQMutable(), "q_map"}, {&attention.getKMutable(), "k_map"}, {&attention.getVMutable(), "v_map"}};
    if (attention.getMask())
      all.push_back({&attention.getMaskMutable()[0], "mask_map"});
    return all;
  }
  if (auto gradient = llvm::dyn_cast<loop::AttentionGradientOp>(op)) {
    SmallVector<MappedOperand> all{{&gradient.getQMutable(), "q_map"},
                                   {&gradient.getKMutable(), "k_map"},
                                   {&gradient.getVMutable(), "v_map"},
                                   {&gradient.getGradMutable(), "grad_map"}};
    if (gradient.getMask())
      all.push_back({&gradient.getMaskMutable()[0], "mask_map"});
    return all;
  }
  return {};
}

static Shape mapDomain(loop::AttentionGradientOp op, StringRef map) {
  if (map == "k_map" || map == "v_map")
    return getShape(map == "k_map" ? op.getDk() : op.getDv());
  Shape queries = getShape(op.getDq()), values = getShape(op.getDv());
  queries.erase(queries.begin()); // the parts
  if (map != "q_map")
    queries.back() = map == "grad_map" ? values.back() : values[values.size() - 2];
  return queries;
}

/// The sizes of what an operand's map takes as dimensions.
static Shape mapDomain(Operation *op, StringRef map) {
  if (auto gradient = llvm::dyn_cast<loop::AttentionGradientOp>(op))
    return mapDomain(gradient, map);
  Shape domain = loop::getDomain(op);
  auto attention = llvm::dyn_cast<loop::AttentionOp>(op);
  if (!attention)
    return domain;
  AffineExpr keys = getSizeFromAttr(attention.getKeySize());
  unsigned rank = domain.size();
  if (map == "q_map")
    domain[rank - 1] = getSizeFromAttr(attention.getHeadSize());
  if (map == "k_map" || map == "v_map") {
    domain[rank - 3] = domain[rank - 3].floorDiv(attention.getGroup());
    domain[rank - 2] = keys;
  }
  if (map == "k_map")
    domain[rank - 1] = getSizeFromAttr(attention.getHeadSize());
  if (map == "mask_map")
    domain[rank - 1] = keys;
  return domain;
}

static bool foldView(Operation *op, MappedOperand mapped, ArrayRef<Symbol> symbols) {
  loop::ReadOp read = onlyRead(mapped.operand->get());
  if (!read)
    return false;
  auto attr = op->getAttrOfType<AffineMapAttr>(mapped.map);
  AffineMap composed = composeMaps(read.getMap(), attr.getValue(), mapDomain(op, mapped.map), symbols);
  Shape shape = getShape(read.getTensor());
  if (!loop::getStridedAccess(simplifyIndex(loop::linearize(composed, shape), {mapDomain(op, mapped.map), symbols}),
                              composed.getNumDims())) {
    auto contract = llvm::dyn_cast<loop::ContractOp>(op);
    return contract && splitReduction(contract, composed, symbols) && foldView(op, mapped, symbols);
  }
  // A reshape may be linear only as a whole: then the map is that of the tensor as one row.
  if (!loop::getStridedAccess(composed, shape))
    return false;
  op->setAttr(mapped.map, AffineMapAttr::get(composed));
  mapped.operand->set(read.getTensor());
  return true;
}

/// Keys and values repeated for each head of a group of queries: the map with head h in place of h floordiv group, and
/// the group; nullopt where the view does something else.
static std::optional<std::pair<AffineMap, int64_t>> ungroupHeads(AffineMap map, unsigned head) {
  MLIRContext *context = map.getContext();
  AffineExpr dim = getAffineDimExpr(head, context), standIn = getAffineDimExpr(map.getNumDims(), context);
  std::optional<int64_t> group;
  for (AffineExpr result : map.getResults())
    result.walk([&](AffineExpr e) {
      auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(e);
      if (binary && e.getKind() == AffineExprKind::FloorDiv && binary.getLHS() == dim)
        group = getConstant(binary.getRHS());
    });
  if (!group || *group <= 1)
    return std::nullopt;
  Shape results;
  for (AffineExpr result : map.getResults()) {
    AffineExpr replaced = result.replace(dim.floorDiv(*group), standIn);
    if (replaced.isFunctionOfDim(head))
      return std::nullopt;
    results.push_back(replaced.replace(standIn, dim));
  }
  return std::pair(makeIndexMap(map.getNumDims(), results, context), *group);
}

/// Grouped queries that the model writes as repeated keys and values.
static void foldGroups(loop::AttentionOp op, ArrayRef<Symbol> symbols) {
  loop::ReadOp k = onlyRead(op.getK()), v = onlyRead(op.getV());
  if (!k || !v || op.getGroup() != 1)
    return;
  unsigned head = getShape(op.getResult(0)).size() - 3;
  auto keys = ungroupHeads(composeMaps(k.getMap(), op.getKMap(), mapDomain(op, "k_map"), symbols), head);
  auto values = ungroupHeads(composeMaps(v.getMap(), op.getVMap(), mapDomain(op, "v_map"), symbols), head);
  if (!keys || !values || keys->second != values->second ||
      !loop::getStridedAccess(keys->first, getShape(k.getTensor())) ||
      !loop::getStridedAccess(values->first, getShape(v.getTensor())))
    return;
  op.setGroup(keys->second);
  op.setKMapAttr(AffineMapAttr::get(keys->first));
  op.setVMapAttr(AffineMapAttr::get(values->first));
  op.getKMutable().set(k.getTensor());
  op.getVMutable().set(v.getTensor());
}

void foldOperandViews(Block &block, ArrayRef<Symbol> symbols) {
  for (auto attention : block.getOps<loop::AttentionOp>())
    foldGroups(attention, symbols);
  for (Operation &op : block)
    for (MappedOperand mapped : mappedOperands(&op))
      while (foldView(&op, mapped, symbols))
        continue;
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (loop::isMember(&op) && op.use_empty())
      op.erase();
}

} // namespace ptc::schedule
