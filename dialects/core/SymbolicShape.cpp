#include "dialects/core/SymbolicShape.h"

#include "dialects/core/Polynomial.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc {

static constexpr llvm::StringLiteral kSymbolsAttr = "ptc.symbols", kGuardsAttr = "ptc.guards";

Shape getShape(Type type) {
  auto tensor = llvm::cast<RankedTensorType>(type);
  if (auto map = llvm::dyn_cast_or_null<AffineMapAttr>(tensor.getEncoding()))
    return Shape(map.getValue().getResults());
  return makeShape(tensor.getShape(), type.getContext());
}

Shape makeShape(llvm::ArrayRef<int64_t> sizes, MLIRContext *context) {
  Shape shape;
  for (int64_t size : sizes)
    shape.push_back(getAffineConstantExpr(size, context));
  return shape;
}

void markSymbols(AffineExpr expr, llvm::SmallBitVector &symbols) {
  expr.walk([&](AffineExpr part) {
    if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part); symbol && symbol.getPosition() < symbols.size())
      symbols.set(symbol.getPosition());
  });
}

/// One more than the highest symbol used.
static unsigned countSymbols(ShapeRef exprs) {
  unsigned count = 0;
  for (AffineExpr expr : exprs)
    expr.walk([&](AffineExpr e) {
      if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(e))
        count = std::max(count, symbol.getPosition() + 1);
    });
  return count;
}

AffineMap makeSymbolMap(ShapeRef exprs, MLIRContext *context) {
  Shape simplified;
  for (AffineExpr expr : exprs)
    simplified.push_back(normalizeProducts(simplifySum(expr)));
  return AffineMap::get(0, countSymbols(simplified), simplified, context);
}

RankedTensorType makeTensorType(ShapeRef sizes, Type element) {
  AffineMap map = makeSymbolMap(sizes, element.getContext());
  SmallVector<int64_t> dims;
  for (AffineExpr size : map.getResults())
    dims.push_back(getConstant(size).value_or(ShapedType::kDynamic));
  bool isStatic = llvm::all_of(map.getResults(), [](AffineExpr e) { return getConstant(e).has_value(); });
  return RankedTensorType::get(dims, element, isStatic ? Attribute() : AffineMapAttr::get(map));
}

Attribute makeSizeAttr(AffineExpr expr) {
  if (auto value = getConstant(expr))
    return IntegerAttr::get(IntegerType::get(expr.getContext(), 64), *value);
  return AffineMapAttr::get(makeSymbolMap(expr, expr.getContext()));
}

AffineExpr getSizeFromAttr(Attribute attr) {
  if (auto integer = llvm::dyn_cast_or_null<IntegerAttr>(attr))
    return getAffineConstantExpr(integer.getInt(), attr.getContext());
  auto map = llvm::dyn_cast_or_null<AffineMapAttr>(attr);
  return map && map.getValue().getNumResults() == 1 ? map.getValue().getResult(0) : AffineExpr();
}

Attribute makeSizesAttr(ShapeRef exprs, MLIRContext *context) {
  SmallVector<int64_t> values;
  for (AffineExpr expr : exprs) {
    auto value = getConstant(expr);
    if (!value)
      return AffineMapAttr::get(makeSymbolMap(exprs, context));
    values.push_back(*value);
  }
  return DenseI64ArrayAttr::get(context, values);
}

std::optional<Shape> getSizesFromAttr(Attribute attr) {
  if (auto array = llvm::dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return makeShape(array.asArrayRef(), attr.getContext());
  if (auto map = llvm::dyn_cast_or_null<AffineMapAttr>(attr))
    return Shape(map.getValue().getResults());
  return std::nullopt;
}

std::optional<int64_t> getConstant(AffineExpr expr) {
  if (auto constant = llvm::dyn_cast_or_null<AffineConstantExpr>(expr))
    return constant.getValue();
  return std::nullopt;
}

AffineExpr product(ShapeRef sizes, MLIRContext *context) {
  AffineExpr result = getAffineConstantExpr(1, context);
  for (AffineExpr size : sizes)
    result = result * size;
  return result;
}

bool isEqual(AffineExpr a, AffineExpr b) {
  if (a == b)
    return true;
  auto difference = getConstant(normalizeProducts(simplifySum(a - b)));
  return difference && *difference == 0;
}

llvm::SmallVector<Symbol> getSymbols(Operation *op) {
  auto module = llvm::dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  llvm::SmallVector<Symbol> symbols;
  auto list = module ? module->getAttrOfType<ArrayAttr>(kSymbolsAttr) : ArrayAttr();
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    Symbol symbol;
    if (auto dict = llvm::dyn_cast<DictionaryAttr>(entry)) {
      if (auto name = dict.getAs<StringAttr>("name"))
        symbol.name = name.str();
      if (auto min = dict.getAs<IntegerAttr>("min"))
        symbol.min = min.getInt();
      if (auto max = dict.getAs<IntegerAttr>("max"))
        symbol.max = max.getInt();
      auto op = dict.getAs<StringAttr>("op");
      auto args = dict.getAs<AffineMapAttr>("args");
      if (op && args && args.getValue().getNumResults() == 2)
        symbol.extremum = {op.getValue() == "max", args.getValue().getResult(0), args.getValue().getResult(1)};
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

void setSymbols(ModuleOp module, llvm::ArrayRef<Symbol> symbols) {
  Builder b(module.getContext());
  SmallVector<Attribute> entries;
  for (const Symbol &symbol : symbols) {
    SmallVector<NamedAttribute> entry{b.getNamedAttr("name", b.getStringAttr(symbol.name)),
                                      b.getNamedAttr("min", b.getI64IntegerAttr(symbol.min)),
                                      b.getNamedAttr("max", b.getI64IntegerAttr(symbol.max))};
    if (const std::optional<Extremum> &e = symbol.extremum) {
      entry.push_back(b.getNamedAttr("op", b.getStringAttr(e->isMax ? "max" : "min")));
      entry.push_back(b.getNamedAttr("args", AffineMapAttr::get(makeSymbolMap({e->a, e->b}, module.getContext()))));
    }
    entries.push_back(b.getDictionaryAttr(entry));
  }
  if (entries.empty())
    module->removeAttr(kSymbolsAttr);
  else
    module->setAttr(kSymbolsAttr, b.getArrayAttr(entries));
}

bool hasSize(Operation *op, llvm::function_ref<bool(AffineExpr)> isSuch) {
  bool found = false;
  AttrTypeWalker walker;
  walker.addWalk([&](AffineMapAttr attr) { found |= llvm::any_of(attr.getValue().getResults(), isSuch); });
  op->walk([&](Operation *inner) {
    walker.walk(inner->getAttrDictionary());
    for (Type type : inner->getResultTypes())
      walker.walk(type);
    for (Region &region : inner->getRegions())
      for (Block &block : region)
        for (Type type : block.getArgumentTypes())
          walker.walk(type);
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Ranges and values
//===----------------------------------------------------------------------===//

static constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
static constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();

static int64_t saturatingAdd(int64_t a, int64_t b, int64_t open) {
  int64_t sum;
  if (a == open || b == open || llvm::AddOverflow(a, b, sum))
    return open;
  return sum;
}

static Range addRanges(Range a, Range b) {
  return {saturatingAdd(a.min, b.min, kLow), saturatingAdd(a.max, b.max, kHigh)};
}

static Range multiplyRanges(Range a, Range b) {
  auto product = [](int64_t x, int64_t y) {
    if (x == 0 || y == 0)
      return int64_t(0);
    bool negative = (x < 0) != (y < 0);
    int64_t result;
    bool open = x == kLow || x == kHigh || y == kLow || y == kHigh;
    if (open || llvm::MulOverflow(x, y, result))
      return negative ? kLow : kHigh;
    return result;
  };
  int64_t corners[] = {product(a.min, b.min), product(a.min, b.max), product(a.max, b.min), product(a.max, b.max)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Range getRange(AffineExpr expr, llvm::ArrayRef<Symbol> symbols) {
  if (auto value = getConstant(expr))
    return {*value, *value};
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr)) {
    if (symbol.getPosition() >= symbols.size())
      return {};
    const Symbol &known = symbols[symbol.getPosition()];
    // Where -1 could be the largest value, it is.
    return {known.min, known.max == Symbol::kUnbounded && known.min >= 0 ? kHigh : known.max};
  }
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return {};
  Range a = getRange(binary.getLHS(), symbols), b = getRange(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return addRanges(a, b);
  case AffineExprKind::Mul:
    return multiplyRanges(a, b);
  case AffineExprKind::Mod:
    return {0, b.max == kHigh ? kHigh : b.max - 1};
  case AffineExprKind::FloorDiv:
  case AffineExprKind::CeilDiv:
    if (b.min <= 0 || a.min < 0)
      return {};
    return {b.max == kHigh ? 0 : a.min / b.max, a.max == kHigh ? kHigh : llvm::divideCeilSigned(a.max, b.min)};
  default:
    return {};
  }
}

int64_t evaluate(AffineExpr expr, llvm::ArrayRef<int64_t> symbols) {
  if (auto value = getConstant(expr))
    return *value;
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), symbols), b = evaluate(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::Mod:
    return b ? llvm::mod(a, b) : 0;
  case AffineExprKind::FloorDiv:
    return b ? llvm::divideFloorSigned(a, b) : 0;
  case AffineExprKind::CeilDiv:
    return b ? llvm::divideCeilSigned(a, b) : 0;
  default:
    llvm_unreachable("sizes have no dimensions");
  }
}

/// As part of a larger expression: sums and quotients in parentheses.
static std::string toTerm(AffineExpr expr, llvm::ArrayRef<Symbol> symbols) {
  if (auto value = getConstant(expr))
    return std::to_string(*value);
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(expr)) {
    unsigned i = symbol.getPosition();
    return i < symbols.size() && !symbols[i].name.empty() ? symbols[i].name : "s" + std::to_string(i);
  }
  auto binary = llvm::cast<AffineBinaryOpExpr>(expr);
  std::string a = toTerm(binary.getLHS(), symbols), b = toTerm(binary.getRHS(), symbols);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return "(" + a + " + " + b + ")";
  case AffineExprKind::Mul:
    return b + "*" + a;
  case AffineExprKind::Mod:
    return "(" + a + " % " + b + ")";
  case AffineExprKind::FloorDiv:
    return "(" + a + " // " + b + ")";
  default:
    return "ceildiv(" + a + ", " + b + ")";
  }
}

Operation *getGuarded(Operation *op) {
  while (op && !llvm::isa<ModuleOp>(op) && !op->hasAttr(kGuardsAttr))
    op = op->getParentOp();
  return op;
}

static ArrayRef<Attribute> getOwnGuards(Operation *op) {
  auto guards = op ? op->getAttrOfType<ArrayAttr>(kGuardsAttr) : ArrayAttr();
  return guards ? guards.getValue() : ArrayRef<Attribute>();
}

SmallVector<Attribute> getGuards(Operation *op) {
  SmallVector<Attribute> guards;
  if (Operation *guarded = getGuarded(op)) {
    if (!llvm::isa<ModuleOp>(guarded))
      llvm::append_range(guards, getOwnGuards(guarded->getParentOfType<ModuleOp>()));
    llvm::append_range(guards, getOwnGuards(guarded));
  }
  return guards;
}

void addGuard(Operation *op, AffineExpr value, StringRef relation, const llvm::Twine &text) {
  OpBuilder b(op->getContext());
  Attribute guard = b.getDictionaryAttr(
      {b.getNamedAttr("relation", b.getStringAttr(relation)), b.getNamedAttr("text", b.getStringAttr(text)),
       b.getNamedAttr("value", AffineMapAttr::get(makeSymbolMap(value, op->getContext())))});
  Operation *guarded = getGuarded(op);
  SmallVector<Attribute> guards(getOwnGuards(guarded));
  if (llvm::is_contained(getGuards(op), guard))
    return;
  guards.push_back(guard);
  guarded->setAttr(kGuardsAttr, b.getArrayAttr(guards));
}

std::string toString(AffineExpr expr, llvm::ArrayRef<Symbol> symbols) {
  std::string text = toTerm(expr, symbols);
  bool isWrapped =
      llvm::is_contained({AffineExprKind::Add, AffineExprKind::Mod, AffineExprKind::FloorDiv}, expr.getKind());
  return isWrapped ? text.substr(1, text.size() - 2) : text;
}

} // namespace ptc
