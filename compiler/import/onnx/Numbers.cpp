#include "compiler/import/onnx/Numbers.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import::onnx {

bool Numbers::canBeSizes(Type type) {
  constexpr int64_t kMost = 16;
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool isInteger = tensor && (tensor.getElementType().isInteger(64) || tensor.getElementType().isInteger(32));
  return isInteger && tensor.getRank() <= 1 && tensor.hasStaticShape() && tensor.getNumElements() <= kMost;
}

std::vector<std::string> Numbers::inputs() const {
  std::vector<std::string> names;
  for (const Element &element : elements)
    if (names.empty() || names.back() != element.input)
      names.push_back(element.input);
  return names;
}

void Numbers::setData(StringRef input, bool isData) {
  if (isData)
    data.insert(input);
  else
    data.erase(input);
}

Value Numbers::bind(Builder &b, StringRef name, mlir::Value argument) {
  Value value = b.wrap(argument);
  if (data.contains(name) || !canBeSizes(argument.getType()))
    return value;
  auto type = cast<RankedTensorType>(argument.getType());
  Literal literal{type.getElementType(), Ints(type.getShape()), {}};
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    std::string symbol = (name + "[" + (type.getRank() ? std::to_string(i) : "") + "]").str();
    auto found = supposed.find(symbol);
    literal.elements.push_back(found == supposed.end() ? Expression::makeSymbol(symbol) : Expression(found->second));
    elements.push_back({std::move(symbol), name.str(), argument, i});
  }
  value.literal = std::make_shared<const Literal>(std::move(literal));
  return value;
}

bool Numbers::suppose(const SymbolTable &symbols, ShapeRef sizes, IntsRef declared) {
  bool isAny = false;
  llvm::ArrayRef<Symbol> all = symbols.all();
  auto isNumber = [&](const Symbol &symbol) {
    return llvm::any_of(elements, [&](const Element &element) { return element.symbol == symbol.name; });
  };
  for (auto [size, said] : llvm::zip(sizes, declared)) {
    llvm::SmallVector<unsigned> open;
    for (unsigned i = 0; i < all.size() && said >= 0; ++i)
      if (!all[i].extremum && !supposed.contains(all[i].name) && dependsOn(size, i, all))
        open.push_back(i);
    if (open.size() != 1 || !isNumber(all[open.front()]))
      continue;
    std::vector<int64_t> values(all.size(), 0);
    for (auto [value, symbol] : llvm::zip(values, all))
      if (auto found = supposed.find(symbol.name); found != supposed.end())
        value = found->second;
    values[open.front()] = said;
    evaluateExtrema(all, values);
    if (evaluate(size, values) != said)
      continue;
    supposed[all[open.front()].name] = said;
    isAny = true;
  }
  return isAny;
}

void Numbers::define(Builder &b) const {
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(&b.function.front());
  llvm::ArrayRef<Symbol> all = b.symbols.all();
  for (const Element &element : elements) {
    auto known = supposed.find(element.symbol);
    const Symbol *symbol = llvm::find_if(all, [&](const Symbol &one) { return one.name == element.symbol; });
    if (known == supposed.end() && symbol == all.end())
      continue;
    Value x = b.wrap(element.argument);
    Value number = b.rank(x) ? b.select(x, 0, element.place) : x;
    mlir::Value item = b.tensor(b.call("item.default", {number}, makeTensorType({}, b.i64())));
    if (!item)
      return;
    if (known != supposed.end())
      item.getDefiningOp()->setAttr("ptc.equals", makeSizeAttr(b.constant(known->second)));
    else
      item.getDefiningOp()->setAttr("ptc.binds", b.builder.getI64IntegerAttr(symbol - all.begin()));
  }
}

} // namespace ptc::import::onnx
