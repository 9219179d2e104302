#include "compiler/graph/train/LossFile.h"

#include "dialects/core/SymbolicShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc {

bool isLossFile(StringRef loss) { return loss.contains('.') || loss.contains('/'); }

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError("--loss: " + what); }

namespace {
/// The loss's sizes as the model's.
class LossTaker {
public:
  LossTaker(ModuleOp model, ModuleOp loss)
      : model(model), loss(loss), builder(model.getContext()), forward(model.lookupSymbol<func::FuncOp>("forward")),
        function(loss.lookupSymbol<func::FuncOp>("forward")), symbols(getSymbols(model)), lossSymbols(getSymbols(loss)),
        found(lossSymbols.size()) {}

  llvm::Error run();

private:
  llvm::Error checkResult();
  llvm::Error bindInputs();
  llvm::Error bind(BlockArgument input, Type output, unsigned place);
  llvm::Error bindSize(AffineExpr wanted, AffineExpr given, const llvm::Twine &where);
  void guard(AffineExpr value, StringRef relation, const llvm::Twine &text);
  void addSymbols();
  void addGuards();
  void rewrite();
  AffineExpr translate(AffineExpr size) const { return size.replaceSymbols(found); }

  ModuleOp model, loss;
  Builder builder;
  func::FuncOp forward, function;
  SmallVector<Symbol> symbols, lossSymbols;
  SmallVector<AffineExpr> found; ///< what each symbol of the loss is in the model; null: not known yet
  SmallVector<Attribute> guards;
};
} // namespace

/// One number, and no writes.
llvm::Error LossTaker::checkResult() {
  if (function.getNumResults() != 1 || !function.getResultAttr(0, "ptc.output"))
    return fail("the loss answers " + llvm::Twine(function.getNumResults()) +
                " tensors, or writes to one, where one number is wanted");
  auto type = cast<RankedTensorType>(function.getResultTypes()[0]);
  if (type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return fail("the loss is no floating number without dimensions (reduce it to its mean)");
  return llvm::Error::success();
}

void LossTaker::guard(AffineExpr value, StringRef relation, const llvm::Twine &text) {
  guards.push_back(builder.getDictionaryAttr({builder.getNamedAttr("relation", builder.getStringAttr(relation)),
                                              builder.getNamedAttr("text", builder.getStringAttr(text)),
                                              builder.getNamedAttr("value", makeSizeAttr(value))}));
}

llvm::Error LossTaker::bindSize(AffineExpr wanted, AffineExpr given, const llvm::Twine &where) {
  auto symbol = dyn_cast<AffineSymbolExpr>(wanted);
  if (symbol && !found[symbol.getPosition()] && !lossSymbols[symbol.getPosition()].extremum) {
    const Symbol &range = lossSymbols[symbol.getPosition()];
    found[symbol.getPosition()] = given;
    Range values = getRange(given, symbols);
    std::string text = toString(given, symbols);
    if (values.max < range.min || (range.max != Symbol::kUnbounded && values.min > range.max))
      return fail(where + " is " + text + ", for which the loss was not exported (" + range.name + ")");
    if (values.min < range.min)
      guard(given - range.min, "ge", text + " >= " + llvm::Twine(range.min) + " (of the loss)");
    if (range.max != Symbol::kUnbounded && values.max > range.max)
      guard(given - range.max, "le", text + " <= " + llvm::Twine(range.max) + " (of the loss)");
    return llvm::Error::success();
  }
  bool isKnown = true;
  wanted.walk([&](AffineExpr one) {
    if (auto part = dyn_cast<AffineSymbolExpr>(one))
      isKnown &= bool(found[part.getPosition()]);
  });
  if (!isKnown)
    return fail(where + " is " + toString(wanted, lossSymbols) +
                " in the loss, which does not say what that is of (export it with sizes that have names of their own)");
  AffineExpr here = translate(wanted);
  if (isEqual(here, given))
    return llvm::Error::success();
  if (getConstant(here) && getConstant(given))
    return fail(where + " is " + toString(given, symbols) + " in the model, and " + toString(here, symbols) +
                " in the loss");
  guard(here - given, "eq", toString(here, symbols) + " = " + toString(given, symbols) + " (of the loss)");
  return llvm::Error::success();
}

llvm::Error LossTaker::bind(BlockArgument input, Type output, unsigned place) {
  auto wanted = cast<RankedTensorType>(input.getType()), given = cast<RankedTensorType>(output);
  std::string where = ("output " + llvm::Twine(place)).str();
  if (wanted.getElementType() != given.getElementType() || wanted.getRank() != given.getRank()) {
    std::string text;
    llvm::raw_string_ostream(text) << where << " of the model is " << given.getElementType() << " of "
                                   << given.getRank() << " dimensions, and input " << place << " of the loss "
                                   << wanted.getElementType() << " of " << wanted.getRank();
    return fail(text);
  }
  for (auto [dim, sizes] : llvm::enumerate(llvm::zip(getShape(wanted), getShape(given))))
    if (llvm::Error error =
            bindSize(std::get<0>(sizes), std::get<1>(sizes), where + ", dimension " + llvm::Twine(dim) + ","))
      return error;
  return llvm::Error::success();
}

llvm::Error LossTaker::bindInputs() {
  SmallVector<Type> outputs;
  for (unsigned i = 0; i < forward.getNumResults(); ++i)
    if (forward.getResultAttr(i, "ptc.output"))
      outputs.push_back(forward.getResultTypes()[i]);
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < forward.getNumArguments(); ++i)
    if (auto name = forward.getArgAttrOfType<StringAttr>(i, "ptc.input"))
      names.push_back(name.getValue());
  unsigned place = 0;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.input");
    if (name && place >= outputs.size() && llvm::is_contained(names, name.getValue()))
      return fail("the model has an input '" + name.getValue() + "', as the loss has");
    if (!name || place >= outputs.size())
      continue;
    if (function.getArgAttr(i, "ptc.binds"))
      return fail("input " + llvm::Twine(place) + " of the loss is a number, where output " + llvm::Twine(place) +
                  " of the model goes");
    if (llvm::Error error = bind(argument, outputs[place], place))
      return error;
    ++place;
  }
  if (place < outputs.size())
    return fail("the loss has " + llvm::Twine(place) + " inputs, fewer than the model's " +
                llvm::Twine(outputs.size()) + " outputs, which it gets before the targets");
  return llvm::Error::success();
}

/// Those of the targets alone.
void LossTaker::addSymbols() {
  llvm::StringSet<> names;
  for (const Symbol &symbol : symbols)
    names.insert(symbol.name);
  for (auto [symbol, place] : llvm::zip(lossSymbols, found)) {
    if (place)
      continue;
    Symbol own = symbol;
    while (!names.insert(own.name).second)
      own.name = "loss_" + own.name;
    if (own.extremum) // of symbols before it
      own.extremum = {own.extremum->isMax, translate(own.extremum->a), translate(own.extremum->b)};
    place = getAffineSymbolExpr(symbols.size(), model.getContext());
    symbols.push_back(own);
  }
}

void LossTaker::addGuards() {
  SmallVector<Attribute> all;
  if (auto own = model->getAttrOfType<ArrayAttr>("ptc.guards"))
    llvm::append_range(all, own);
  if (auto others = loss->getAttrOfType<ArrayAttr>("ptc.guards"))
    for (auto guard : others.getAsRange<DictionaryAttr>()) {
      NamedAttrList entries(guard);
      if (AffineExpr value = getSizeFromAttr(guard.get("value")))
        entries.set("value", makeSizeAttr(translate(value)));
      all.push_back(entries.getDictionary(model.getContext()));
    }
  llvm::append_range(all, guards);
  if (!all.empty())
    model->setAttr("ptc.guards", builder.getArrayAttr(all));
}

/// The function over the model's symbols.
void LossTaker::rewrite() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
    Shape sizes = llvm::map_to_vector(getShape(type), [&](AffineExpr size) { return translate(size); });
    return std::make_pair(Type(makeTensorType(sizes, type.getElementType())), WalkResult::skip());
  });
  replacer.addReplacement([&](AffineMapAttr attr) -> std::optional<std::pair<Attribute, WalkResult>> {
    Shape sizes = llvm::map_to_vector(attr.getValue().getResults(), [&](AffineExpr size) { return translate(size); });
    return std::make_pair(Attribute(AffineMapAttr::get(makeSymbolMap(sizes, attr.getContext()))), WalkResult::skip());
  });
  replacer.recursivelyReplaceElementsIn(function, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (auto binds = function.getArgAttrOfType<IntegerAttr>(i, "ptc.binds")) {
      auto symbol = cast<AffineSymbolExpr>(found[binds.getInt()]);
      function.setArgAttr(i, "ptc.binds", builder.getI64IntegerAttr(symbol.getPosition()));
    }
    for (StringRef role : {"ptc.weight", "ptc.default"})
      if (auto name = function.getArgAttrOfType<StringAttr>(i, role))
        function.setArgAttr(i, role, builder.getStringAttr(kLossFunction + "/" + name.getValue()));
  }
}

llvm::Error LossTaker::run() {
  if (!forward || !function)
    return fail("a model has a function @forward");
  if (llvm::Error error = checkResult())
    return error;
  if (llvm::Error error = bindInputs())
    return error;
  addSymbols();
  addGuards();
  rewrite();
  setSymbols(model, symbols);
  function->remove();
  model.push_back(function);
  function.setName(kLossFunction);
  function.setPrivate();
  return llvm::Error::success();
}

llvm::Error takeLoss(ModuleOp model, WeightStore &weights, ModuleOp loss, WeightStore lossWeights) {
  if (llvm::Error error = LossTaker(model, loss).run())
    return error;
  auto own = std::make_shared<WeightStore>(std::move(lossWeights));
  for (const auto &[name, weight] : own->all())
    weights.addView(kLossFunction.str() + "/" + name, weight.type, weight.bytes);
  weights.keep(own);
  weights.addCheck([own] { return llvm::joinErrors(own->verify(), own->checkInputs()); });
  return llvm::Error::success();
}

} // namespace ptc
