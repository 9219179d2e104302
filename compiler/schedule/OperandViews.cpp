#include "compiler/schedule/OperandViews.h"

#include "dialects/loop/Bodies.h"
#include "dialects/loop/StridedAccess.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

/// The read that is all a view does: no guard, no index from data.
static loop::ReadOp onlyRead(Value value) {
  auto map = value.getDefiningOp<loop::MapOp>();
  if (!map || map.getNumResults() != 1)
    return {};
  Block &body = map.getBody().front();
  auto read = body.getTerminator()->getOperand(0).getDefiningOp<loop::ReadOp>();
  bool plain =
      read && read->getBlock() == &body && !read.getWhere() && read.getIndices().size() == body.getNumArguments();
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
  auto attention = llvm::dyn_cast<loop::AttentionOp>(op);
  if (!attention)
    return loop::getDomain(op);
  Shape domain = loop::getHeadsFirst(attention);
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

/// Whether the places that `map` takes from indices of these sizes are linear, if not those along each dimension.
static bool isLinear(AffineMap map, ShapeRef shape, ShapeRef domain, ArrayRef<Symbol> symbols) {
  AffineExpr place = simplifyIndex(loop::linearize(map, shape), {domain, symbols});
  return loop::getStridedAccess(place, map.getNumDims()).has_value();
}

static bool foldView(Operation *op, MappedOperand mapped, ArrayRef<Symbol> symbols) {
  loop::ReadOp read = onlyRead(mapped.operand->get());
  if (!read)
    return false;
  auto attr = op->getAttrOfType<AffineMapAttr>(mapped.map);
  AffineMap composed = composeMaps(read.getMap(), attr.getValue(), mapDomain(op, mapped.map), symbols);
  Shape shape = getShape(read.getTensor());
  if (!isLinear(composed, shape, mapDomain(op, mapped.map), symbols)) {
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

//===----------------------------------------------------------------------===//
// Results of attention
//===----------------------------------------------------------------------===//

/// Of (b..., h, i, e), with heads and queries exchanged.
static Shape exchangeHeads(ShapeRef list) {
  Shape result(list.begin(), list.end());
  std::swap(result[result.size() - 3], result[result.size() - 2]);
  return result;
}

static AffineMap exchangeHeads(AffineMap map) {
  return makeIndexMap(map.getNumDims(), exchangeHeads(ShapeRef(map.getResults())), map.getContext());
}

/// Whether templates alone read the result, by themselves or through a view, and all at places that are linear if
/// queries come first, but not as it is.
static bool isReadQueriesFirst(Value result, ArrayRef<Symbol> symbols) {
  Shape shape = getShape(result);
  bool isSoAlready = true;
  auto readsLinearly = [&](OpOperand &use, AffineMap view) {
    Operation *op = use.getOwner();
    SmallVector<MappedOperand> operands = mappedOperands(op);
    auto *mapped = llvm::find_if(operands, [&](MappedOperand operand) { return operand.operand == &use; });
    if (mapped == operands.end())
      return false;
    Shape domain = mapDomain(op, mapped->map);
    auto map = op->getAttrOfType<AffineMapAttr>(mapped->map).getValue();
    if (view)
      map = composeMaps(view, map, domain, symbols);
    isSoAlready &= isLinear(map, shape, domain, symbols);
    return isLinear(exchangeHeads(map), exchangeHeads(shape), domain, symbols);
  };
  for (OpOperand &use : result.getUses()) {
    auto read = llvm::dyn_cast<loop::ReadOp>(use.getOwner());
    if (!read && !readsLinearly(use, AffineMap()))
      return false;
    Value view = read ? Value(read->getParentOp()->getResult(0)) : Value();
    if (read && (onlyRead(view) != read ||
                 !llvm::all_of(view.getUses(), [&](OpOperand &use) { return readsLinearly(use, read.getMap()); })))
      return false;
  }
  return !isSoAlready;
}

/// The epilogue does not ask where it is yet.
static void storeQueriesFirst(loop::AttentionOp op) {
  Value result = op.getResult(0);
  for (OpOperand &use : result.getUses()) {
    Operation *reader = use.getOwner();
    if (auto read = llvm::dyn_cast<loop::ReadOp>(reader))
      read.setMapAttr(AffineMapAttr::get(exchangeHeads(read.getMap())));
    for (MappedOperand mapped : mappedOperands(reader))
      if (mapped.operand == &use)
        reader->setAttr(mapped.map,
                        AffineMapAttr::get(exchangeHeads(reader->getAttrOfType<AffineMapAttr>(mapped.map).getValue())));
  }
  result.setType(makeTensorType(exchangeHeads(getShape(result)), elementType(result)));
  op.setQueriesFirst(true);
}

void exchangeHeads(Block &block, ArrayRef<Symbol> symbols) {
  for (auto op : block.getOps<loop::AttentionOp>())
    if (isReadQueriesFirst(op.getResult(0), symbols))
      storeQueriesFirst(op);
}

//===----------------------------------------------------------------------===//
// All views
//===----------------------------------------------------------------------===//

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
