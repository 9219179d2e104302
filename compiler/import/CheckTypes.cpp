//===- CheckTypes.cpp - what a file says of types, against what they are ---===//
//
// Exporters err: torch 2.11 gives the final states of an LSTM one dimension too
// many. A result has the shape that its operands and arguments give it. Where
// the file gives another rank, what follows from the result in the file is not
// believed either; where it gives another size, the graph contradicts itself.
// Sizes that are equal for some symbols alone become conditions on a call.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/BuildNodes.h"
#include "compiler/import/Fits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

static llvm::Error fail(const llvm::Twine &what) { return llvm::createStringError(what); }

static std::string describe(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

bool NodeBuilder::isDerived(const Value &value, const Scope &scope) const {
  if (value.kind == Value::List)
    return llvm::any_of(value.elements, [&](const Value &element) { return isDerived(element, scope); });
  const Binding *binding = value.kind == Value::Reference ? scope.find(value.text) : nullptr;
  return binding && (binding->isDerived || derived.contains(binding->tensor));
}

bool NodeBuilder::takesDerived(const Node &node, const Scope &scope) const {
  return llvm::any_of(node.inputs, [&](const NamedValue &input) { return isDerived(input.value, scope); });
}

/// Whether a call's inputs say what the sizes are; nobody can compare what data decide before they do.
bool NodeBuilder::isGiven(AffineExpr size) const {
  bool isKnown = true;
  size.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol || !isKnown)
      return;
    unsigned place = symbol.getPosition();
    if (const auto &extremum = symbols.extremumOf(place)) {
      isKnown = isGiven(extremum->a) && isGiven(extremum->b);
      return;
    }
    isKnown = llvm::any_of(function.getArguments(), [&](BlockArgument argument) {
      auto binds = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "ptc.binds");
      return (binds && binds.getInt() == place) ||
             llvm::any_of(getShape(argument), [&](AffineExpr size) { return size.isFunctionOfSymbol(place); });
    });
  });
  return isKnown;
}

void NodeBuilder::assume(StringRef relation, AffineExpr a, AffineExpr b) {
  // Sizes that data decide are compared where they are said; that one is not 1 is said nowhere else.
  if (relation == "Ne" || (isGiven(a) && isGiven(b)))
    symbols.addGuard(Expression::makeCall(relation.str(), {symbols.express(a), symbols.express(b)}));
}

llvm::Error NodeBuilder::checkType(OpResult result, RankedTensorType own, bool isDerived) {
  auto said = cast<RankedTensorType>(result.getType());
  Shape sizes = getShape(own), saidSizes = getShape(said);
  if (sizes.size() != saidSizes.size() || isDerived) {
    bool isSame = sizes.size() == saidSizes.size() && llvm::all_of(llvm::zip(sizes, saidSizes), [](auto pair) {
                    return isEqual(std::get<0>(pair), std::get<1>(pair));
                  });
    if (!isSame) {
      result.setType(makeTensorType(sizes, said.getElementType()));
      derived.insert(result);
    }
    return llvm::Error::success();
  }
  bool isDefined = false;
  for (auto [size, saidSize] : llvm::zip(sizes, saidSizes)) {
    auto x = getConstant(size), y = getConstant(saidSize);
    // A symbol that nobody has met is the exporter's for a size that follows from others (of a slice of what data
    // decide).
    auto symbol = dyn_cast<AffineSymbolExpr>(saidSize);
    if (symbol && symbol.getPosition() >= symbolsBefore && !symbols.extremumOf(symbol.getPosition())) {
      symbols.define(symbol.getPosition(), size);
      isDefined = true;
      continue;
    }
    if (x && y && *x != *y)
      return fail("result " + llvm::Twine(result.getResultNumber()) + " is " + describe(own) + ", but the graph says " +
                  describe(said));
    if ((!x || !y) && !isEqual(size, saidSize))
      assume("Eq", size, saidSize);
  }
  if (isDefined)
    result.setType(makeTensorType(sizes, said.getElementType()));
  return llvm::Error::success();
}

/// Of one whose ends may lie beyond the tensor, which the row leaves to the graph; null where they may be negative, or
/// nobody knows whether they are.
RankedTensorType NodeBuilder::findSliceType(const aten::AtenOp &slice) {
  auto type = cast<RankedTensorType>(slice.tensor("self").getType());
  Shape sizes = getShape(type);
  int64_t dim = slice.integer("dim"), step = slice.integer("step");
  dim += dim < 0 ? int64_t(sizes.size()) : 0;
  if (dim < 0 || dim >= int64_t(sizes.size()) || step < 1)
    return {};
  auto call = [](const char *name, Expression a, Expression b) {
    return Expression::makeCall(name, {std::move(a), std::move(b)});
  };
  Expression size = symbols.wrap(sizes[dim]);
  auto clamp = [&](StringRef argument, const Expression &otherwise) -> std::optional<Expression> {
    AffineExpr end = slice.symInt(argument);
    if (!end)
      return otherwise;
    auto known = getConstant(end);
    if (known && *known > std::numeric_limits<int64_t>::max() / 2) // `x[2:]`: no end
      return size;
    if (known && *known < 0)
      return call("Max", call("Add", size, Expression(*known)), Expression(0));
    if (!known && symbols.decide("Ge", end) != true)
      return std::nullopt;
    return call("Min", symbols.wrap(end), size);
  };
  auto start = clamp("start", Expression(0)), end = clamp("end", size);
  if (!start || !end)
    return {};
  Expression count = call("Max", call("Sub", *end, *start), Expression(0));
  auto result = symbols.toAffine(
      step == 1 ? count : call("FloorDiv", call("Add", count, Expression(step - 1)), Expression(step)));
  if (!result) {
    llvm::consumeError(result.takeError());
    return {};
  }
  sizes[dim] = *result;
  return makeTensorType(sizes, type.getElementType());
}

/// An operator that writes its operand in place gives it back.
static mlir::Value findWritten(const aten::AtenOp &op) {
  const aten::Schema &schema = op.schema();
  if (schema.has(aten::Mark::InplaceView) || !schema.mutates() || schema.returns.size() != 1)
    return {};
  for (const aten::Argument &argument : schema.arguments)
    if (argument.alias.written && argument.isTensor() && !argument.isList)
      return op.tensor(argument.name);
  return {};
}

/// Of the graphs that an operation takes; while they are built they are in no module yet, and nobody knows ranges.
llvm::Error NodeBuilder::checkRegions(Operation *op) {
  llvm::Error error = llvm::Error::success();
  for (Region &region : op->getRegions())
    region.walk<WalkOrder::PreOrder>([&](Operation *inner) {
      if (error)
        return;
      if (aten::AtenOp::isKnown(inner))
        error = checkTypes(inner);
      else if (llvm::any_of(inner->getOperands(), [&](mlir::Value operand) { return derived.contains(operand); }))
        error = fail("a graph that it takes gives a result whose type is not what the graph says");
    });
  return error;
}

llvm::Error NodeBuilder::checkTypes(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  if (!findTypes || !module)
    return llvm::Error::success();
  bool isDerived = llvm::any_of(op->getOperands(), [&](mlir::Value operand) { return derived.contains(operand); });
  const aten::Schema &schema = aten::AtenOp(op).schema();
  if (mlir::Value written = isDerived ? findWritten(aten::AtenOp(op)) : mlir::Value())
    return checkType(op->getResult(0), cast<RankedTensorType>(written.getType()), isDerived);
  // Data decide a size: the row would define it.
  if (!isDerived && (schema.has(aten::Mark::DynamicShape) || schema.has(aten::Mark::DataDependent)))
    return llvm::Error::success();
  symbols.publish(module);
  auto types = findTypes(op);
  if (!types && isDerived)
    return fail("an operand is " + describe(op->getOperand(0).getType()) +
                ", which is not what the graph says, and ptc cannot tell the result's type: " +
                llvm::toString(types.takeError()));
  if (!types) {
    llvm::consumeError(types.takeError());
    types = llvm::SmallVector<Type>();
    bool isNewSize = symbols.count() > symbolsBefore && schema.name == "slice.Tensor";
    if (RankedTensorType type = isNewSize ? findSliceType(aten::AtenOp(op)) : RankedTensorType())
      types->push_back(type);
  }
  for (auto [result, own] : llvm::zip(op->getResults(), *types))
    if (isa<RankedTensorType>(result.getType()))
      if (llvm::Error error = checkType(result, cast<RankedTensorType>(own), isDerived))
        return error;
  forEachAssumption(aten::AtenOp(op), [&](StringRef relation, AffineExpr a, AffineExpr b) { assume(relation, a, b); });
  return llvm::Error::success();
}

/// The number that a node computes, or the file's way of writing it.
llvm::Expected<Expression> NodeBuilder::checkNumber(const Expression &own, const Expression &said, bool isDerived) {
  if (own.isCondition() || own.isFloat() || said.isFloat())
    return isDerived ? own : said;
  auto a = symbols.toAffine(own), b = symbols.toAffine(said);
  if (!a || !b) {
    llvm::consumeError(a.takeError());
    llvm::consumeError(b.takeError());
    return isDerived ? own : said;
  }
  if (isEqual(*a, *b) || isDerived)
    return isDerived ? own : said;
  if (getConstant(*a) && getConstant(*b))
    return fail("is " + llvm::Twine(*getConstant(*a)) + ", but the graph says " + llvm::Twine(*getConstant(*b)));
  assume("Eq", *a, *b);
  return said;
}

} // namespace ptc::import
