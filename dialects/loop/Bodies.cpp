#include "dialects/loop/Bodies.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace ptc::loop {

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

static void cloneRead(Builder &b, ReadOp read, IRMapping &mapping, Value guard) {
  SmallVector<Value> ids;
  for (Value id : read.getIndices())
    ids.push_back(mapping.lookupOrDefault(id));
  Value where = read.getWhere() ? mapping.lookupOrDefault(read.getWhere()) : Value();
  Value otherwise = read.getOtherwise() ? mapping.lookupOrDefault(read.getOtherwise()) : Value();
  where = logicalAnd(b, where, guard);
  if (where && !otherwise)
    otherwise = constantInt(b, read.getType(), 0);
  Value copy = ReadOp::create(b, read.getType(), read.getTensor(), ids, where, otherwise, read.getMap());
  mapping.map(read.getValue(), copy);
}

SmallVector<Value> cloneBody(Builder &b, Block &block, ValueRange arguments, Value guard) {
  IRMapping mapping;
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator()) {
    if (auto read = llvm::dyn_cast<ReadOp>(op)) {
      cloneRead(b, read, mapping, guard);
      continue;
    }
    auto checked = llvm::dyn_cast<CheckedIndexOp>(op);
    if (checked && guard) {
      Value value = mapping.lookupOrDefault(checked.getValue());
      Value safe = arith::SelectOp::create(b, guard, value, constantInt(b, value.getType(), 0));
      auto guarded = CheckedIndexOp::create(b, b.getIndexType(), safe, checked.getSize());
      guarded->setDiscardableAttrs(checked->getDiscardableAttrDictionary());
      mapping.map(checked.getResult(), guarded.getResult());
      continue;
    }
    b.clone(op, mapping);
  }
  SmallVector<Value> yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

//===----------------------------------------------------------------------===//
// Tidying
//===----------------------------------------------------------------------===//

unsigned countIndices(Block &block) {
  unsigned count = 0;
  while (count < block.getNumArguments() && block.getArgument(count).getType().isIndex())
    ++count;
  return count;
}

namespace {
class Tidier {
public:
  Tidier(Block &block, ShapeRef domain, ArrayRef<Symbol> symbols)
      : block(block), domain(domain), symbols(symbols), indices(block.getArguments().take_front(countIndices(block))) {}

  void run() {
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
      visit(op);
    for (Operation *op = block.getTerminator()->getPrevNode(); op;) {
      Operation *before = op->getPrevNode();
      if (op->use_empty())
        op->erase();
      op = before;
    }
  }

private:
  void visit(Operation &op);
  void composeIndices(MutableOperandRange operands, AffineMap map, Operation &op);
  bool decideComparison(arith::CmpIOp op);
  bool decideRead(ReadOp op);
  bool fold(Operation &op);
  void deduplicate(Operation &op);

  /// A value as an expression of dimensions: the block's indices, then `extra`.
  AffineExpr expressionOf(Value value);
  IndexBounds bounds() { return {sizes, symbols}; }
  void start() {
    extra.clear();
    sizes.assign(domain.begin(), domain.end());
    sizes.resize(indices.size());
  }

  Block &block;
  ShapeRef domain;
  ArrayRef<Symbol> symbols;
  ArrayRef<BlockArgument> indices;
  SmallVector<Value> extra;
  Shape sizes;
  llvm::DenseMap<llvm::hash_code, SmallVector<Operation *, 1>> seen;
};
} // namespace

AffineExpr Tidier::expressionOf(Value value) {
  MLIRContext *context = value.getContext();
  if (auto argument = llvm::dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &block)
    return getAffineDimExpr(argument.getArgNumber(), context);
  if (auto index = value.getDefiningOp<IndexOp>()) {
    SmallVector<AffineExpr> inner;
    for (Value operand : index.getIndices())
      inner.push_back(expressionOf(operand));
    return index.getMap().getResult(0).replaceDims(inner);
  }
  if (auto constant = value.getDefiningOp<arith::ConstantOp>())
    return getAffineConstantExpr(llvm::cast<IntegerAttr>(constant.getValue()).getInt(), context);
  auto found = llvm::find(extra, value);
  unsigned place = found - extra.begin();
  if (found == extra.end()) {
    extra.push_back(value);
    auto checked = value.getDefiningOp<CheckedIndexOp>();
    sizes.push_back(checked ? getSizeFromAttr(checked.getSize()) : AffineExpr());
  }
  return getAffineDimExpr(indices.size() + place, context);
}

/// Only the block's indices and values computed from data remain as operands.
void Tidier::composeIndices(MutableOperandRange operands, AffineMap map, Operation &op) {
  start();
  SmallVector<AffineExpr> inner;
  for (OpOperand &operand : operands)
    inner.push_back(expressionOf(operand.get()));
  Shape results;
  for (AffineExpr result : map.getResults())
    results.push_back(simplifyIndex(result.replaceDims(inner), bounds()));
  SmallVector<Value> values(indices.begin(), indices.end());
  values.append(extra);
  operands.assign(values);
  op.setAttr("map", AffineMapAttr::get(makeIndexMap(values.size(), results, op.getContext())));
}

/// Comparisons of indices that their sizes decide.
bool Tidier::decideComparison(arith::CmpIOp op) {
  if (!op.getLhs().getType().isIndex())
    return false;
  start();
  AffineExpr x = expressionOf(op.getLhs()), y = expressionOf(op.getRhs());
  std::optional<bool> result;
  switch (op.getPredicate()) {
  case arith::CmpIPredicate::sge:
    result = isNonNegative(x - y, bounds());
    break;
  case arith::CmpIPredicate::slt:
    result = isNonNegative(y - x - 1, bounds());
    break;
  case arith::CmpIPredicate::eq: {
    if (auto difference = getConstant(simplifyIndex(x - y, bounds())))
      result = *difference == 0;
    break;
  }
  default:
    break;
  }
  if (!result)
    return false;
  Builder b(op.getLoc(), op);
  op.replaceAllUsesWith(constantInt(b, b.getI1Type(), *result));
  op.erase();
  return true;
}

static std::optional<bool> constantBool(Value value) {
  auto constant = value ? value.getDefiningOp<arith::ConstantOp>() : arith::ConstantOp();
  if (!constant || !value.getType().isInteger(1))
    return std::nullopt;
  return !llvm::cast<IntegerAttr>(constant.getValue()).getValue().isZero();
}

bool Tidier::decideRead(ReadOp op) {
  auto where = constantBool(op.getWhere());
  if (!where)
    return false;
  if (*where) {
    op.getWhereMutable().clear();
    op.getOtherwiseMutable().clear();
    return false;
  }
  op.replaceAllUsesWith(op.getOtherwise());
  op.erase();
  return true;
}

bool Tidier::fold(Operation &op) {
  if (llvm::isa<arith::ConstantOp>(op))
    return false;
  SmallVector<Value> results;
  OpBuilder b(&op);
  if (failed(b.tryFold(&op, results)) || results.empty())
    return false;
  op.replaceAllUsesWith(results);
  op.erase();
  return true;
}

void Tidier::deduplicate(Operation &op) {
  auto hash =
      OperationEquivalence::computeHash(&op, OperationEquivalence::directHashValue,
                                        OperationEquivalence::ignoreHashValue, OperationEquivalence::IgnoreLocations);
  auto &alike = seen[hash];
  for (Operation *other : alike)
    if (OperationEquivalence::isEquivalentTo(&op, other, OperationEquivalence::exactValueMatch, nullptr,
                                             OperationEquivalence::IgnoreLocations)) {
      op.replaceAllUsesWith(other);
      op.erase();
      return;
    }
  alike.push_back(&op);
}

void Tidier::visit(Operation &op) {
  if (auto compare = llvm::dyn_cast<arith::CmpIOp>(op); compare && decideComparison(compare))
    return;
  if (auto read = llvm::dyn_cast<ReadOp>(op)) {
    if (decideRead(read))
      return;
    composeIndices(read.getIndicesMutable(), read.getMap(), op);
  } else if (auto index = llvm::dyn_cast<IndexOp>(op)) {
    composeIndices(index.getIndicesMutable(), index.getMap(), op);
  }
  if (!fold(op))
    deduplicate(op);
}

void tidyBody(Region &region, ShapeRef domain, ArrayRef<Symbol> symbols) {
  if (!region.empty())
    Tidier(region.front(), domain, symbols).run();
}

void tidyMember(Operation *member, ArrayRef<Symbol> symbols) {
  Shape domain = getDomain(member);
  for (Region &region : member->getRegions())
    tidyBody(region, domain, symbols);
}

bool isAtOwnIndex(ReadOp read, unsigned dimension) {
  AffineExpr place = read.getMap().getResult(dimension);
  if (getConstant(getShape(read.getTensor())[dimension]) == 1 && getConstant(place) == 0)
    return true;
  auto dim = llvm::dyn_cast<AffineDimExpr>(place);
  auto index = dim ? llvm::dyn_cast<BlockArgument>(read.getIndices()[dim.getPosition()]) : BlockArgument();
  return index && index.getOwner() == read->getBlock() && index.getArgNumber() == dimension;
}

bool isIdentityRead(ReadOp read, unsigned rank) {
  if (read.getWhere() || getShape(read.getTensor()).size() != rank || read.getIndices().size() < rank)
    return false;
  return llvm::all_of(llvm::seq(rank), [&](unsigned i) { return isAtOwnIndex(read, i); });
}

} // namespace ptc::loop
