#include "dialects/prims/reference/Evaluate.h"
#include "dialects/control/Control.h"

#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/reference/Evaluation.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace ptc::prims {

static llvm::Error makeError(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

static Sizes evaluateSizes(ShapeRef sizes, ArrayRef<int64_t> symbols) {
  Sizes values;
  for (AffineExpr size : sizes)
    values.push_back(ptc::evaluate(size, symbols));
  return values;
}

Sizes Evaluation::getSizes(Attribute attr) const { return evaluateSizes(*getSizesFromAttr(attr), symbols); }

int64_t Evaluation::getSize(Attribute attr) const { return ptc::evaluate(getSizeFromAttr(attr), symbols); }

Tensor Evaluation::makeResult(size_t i) const {
  auto type = llvm::cast<RankedTensorType>(op->getResult(i).getType());
  return Tensor(type.getElementType(), onElement ? Sizes() : evaluateSizes(getShape(type), symbols));
}

llvm::Error Evaluation::fail(const llvm::Twine &what) const {
  return makeError(op->getName().getStringRef() + ": " + what);
}

llvm::Expected<std::vector<Tensor>> evaluate(Operation *op, ArrayRef<const Tensor *> operands,
                                             ArrayRef<int64_t> symbols) {
  auto prim = llvm::dyn_cast<PrimInterface>(op);
  if (!prim)
    return makeError(op->getName().getStringRef() + ": is no prim and has no reference");
  Evaluation evaluation(op, operands, symbols);
  if (auto error = prim.evaluate(evaluation))
    return std::move(error);
  return evaluation.takeResults();
}

llvm::Expected<Tensor> evaluateElement(Operation *op, ArrayRef<const Tensor *> operands) {
  Evaluation evaluation(op, operands, {}, /*onElement=*/true);
  if (auto error = llvm::cast<PrimInterface>(op).evaluate(evaluation))
    return std::move(error);
  Tensor result = std::move(evaluation.takeResults().front());
  result.round();
  return result;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// The symbol and its value for which a*s + b (or s alone) equals `value`.
static std::optional<std::pair<unsigned, int64_t>> solve(AffineExpr size, int64_t value) {
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(size))
    return std::make_pair(symbol.getPosition(), value);
  auto binary = llvm::dyn_cast<AffineBinaryOpExpr>(size);
  auto constant = binary ? getConstant(binary.getRHS()) : std::nullopt;
  if (!constant)
    return std::nullopt;
  if (size.getKind() == AffineExprKind::Add)
    return solve(binary.getLHS(), value - *constant);
  if (size.getKind() == AffineExprKind::Mul && *constant != 0 && value % *constant == 0)
    return solve(binary.getLHS(), value / *constant);
  return std::nullopt;
}

/// The values that symbols are defined by: results of the function with that role.
static llvm::DenseMap<Value, llvm::SmallVector<unsigned, 1>> definedSymbols(func::FuncOp function) {
  llvm::DenseMap<Value, llvm::SmallVector<unsigned, 1>> symbols;
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands())
    if (auto symbol = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "ptc.defines"))
      symbols[operand.get()].push_back(symbol.getInt());
  return symbols;
}

llvm::Expected<std::vector<int64_t>> bindSymbols(func::FuncOp function, ArrayRef<Tensor> inputs) {
  llvm::SmallVector<Symbol> known = getSymbols(function);
  std::vector<int64_t> values(known.size(), -1);
  std::vector<bool> isSaid(known.size());
  auto say = [&](unsigned symbol, int64_t value) {
    if (symbol < values.size())
      values[symbol] = value, isSaid[symbol] = true;
  };
  auto forEachInput = [&](auto f) {
    size_t next = 0;
    for (BlockArgument argument : function.getArguments())
      if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.input"))
        if (next < inputs.size())
          f(argument, name.getValue(), inputs[next++]);
  };
  forEachInput([&](BlockArgument argument, StringRef, const Tensor &input) {
    auto binds = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "ptc.binds");
    if (binds && input.integers.size() == 1)
      say(binds.getInt(), input.integers[0]);
    Shape shape = getShape(argument);
    for (size_t i = 0; i < shape.size() && i < input.shape.size(); ++i)
      if (auto solved = solve(shape[i], input.shape[i]))
        say(solved->first, solved->second);
  });
  evaluateExtrema(known, values);
  std::string wrong;
  forEachInput([&](BlockArgument argument, StringRef name, const Tensor &input) {
    Sizes expected = evaluateSizes(getShape(argument), values);
    if (!wrong.empty() || llvm::ArrayRef(expected) == llvm::ArrayRef(input.shape))
      return;
    llvm::raw_string_ostream os(wrong);
    os << "input '" << name << "' has the shape [";
    llvm::interleaveComma(input.shape, os);
    os << "], but the model takes " << argument.getType();
  });
  if (!wrong.empty())
    return makeError(wrong);
  for (auto &[defined, symbols] : definedSymbols(function))
    for (unsigned symbol : symbols)
      say(symbol, 0); // until the program has computed it
  evaluateExtrema(known, values);
  for (auto [i, value] : llvm::enumerate(values))
    if (!isSaid[i] && !known[i].extremum && value < 0)
      return makeError("no input says what the size " + known[i].name + " is");
  return values;
}

static bool holds(StringRef relation, int64_t value) {
  if (relation == "eq" || relation == "ne")
    return (value == 0) == (relation == "eq");
  if (relation == "lt" || relation == "le")
    return value < 0 || (value == 0 && relation == "le");
  return value > 0 || (value == 0 && relation == "ge");
}

std::string findBrokenGuard(func::FuncOp function, ArrayRef<int64_t> symbols) {
  llvm::SmallVector<Symbol> known = getSymbols(function);
  auto isOfData = [&](AffineExpr value) {
    for (auto &[defined, those] : definedSymbols(function))
      for (unsigned symbol : those)
        if (dependsOn(value, symbol, known))
          return true;
    return false;
  };
  for (Attribute one : getGuards(function)) {
    auto guard = llvm::cast<DictionaryAttr>(one);
    AffineExpr value = getSizeFromAttr(guard.get("value"));
    if (!isOfData(value) && !holds(guard.getAs<StringAttr>("relation").getValue(), ptc::evaluate(value, symbols)))
      return guard.getAs<StringAttr>("text").str();
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

/// The values that are still to be read.
class Values {
public:
  void set(Value value, Tensor tensor) {
    if (!value.use_empty())
      live[value] = {std::move(tensor), size_t(std::distance(value.use_begin(), value.use_end()))};
  }
  const Tensor *get(Value value) const { return &live.find(value)->second.tensor; }
  /// A value that was read for the last time gives its memory back.
  void release(Value value) {
    auto it = live.find(value);
    if (--it->second.reads == 0)
      live.erase(it);
  }

private:
  struct Entry {
    Tensor tensor;
    size_t reads = 0;
  };
  llvm::DenseMap<Value, Entry> live;
};

} // namespace

static llvm::Error setArguments(func::FuncOp function, ArrayRef<Tensor> inputs, WeightReader readWeight,
                                Values &values) {
  size_t next = 0;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = llvm::cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(i, "ptc.input");
    bool isCalled = function.isPrivate() && !function.getArgAttr(i, "ptc.weight");
    if (name || isCalled) {
      std::string shown = name ? name.getValue().str() : std::to_string(i);
      if (next == inputs.size())
        return makeError("no value for the input '" + shown + "'");
      if (inputs[next].element != type.getElementType())
        return makeError("the input '" + shown + "' has other elements than the model takes");
      values.set(argument, inputs[next++]);
      continue;
    }
    auto key = function.getArgAttrOfType<StringAttr>(i, "ptc.weight");
    if (!key)
      key = function.getArgAttrOfType<StringAttr>(i, "ptc.state");
    if (!key)
      return makeError("argument " + llvm::Twine(i) + " of the function has no role");
    auto weight = readWeight(key.getValue(), type);
    if (!weight)
      return weight.takeError();
    values.set(argument, std::move(*weight));
  }
  return llvm::Error::success();
}

/// The results of an operation that calls functions, or only says what runs together.
static llvm::Expected<std::vector<Tensor>> evaluateControl(Operation *op, ArrayRef<const Tensor *> operands,
                                                           WeightReader readWeight, ArrayRef<int64_t> symbols,
                                                           EvaluateOptions options) {
  std::vector<Tensor> inputs;
  for (const Tensor *operand : operands)
    inputs.push_back(*operand);
  if (isa<control::FusionBarrierOp>(op))
    return inputs;
  auto call = [&](FlatSymbolRefAttr name) {
    return evaluate(control::getFunction(op, name), inputs, readWeight, symbols, options);
  };
  if (auto branch = llvm::dyn_cast<control::IfOp>(op)) {
    bool isTrue = inputs.front().integers.front();
    inputs.erase(inputs.begin());
    return call(isTrue ? branch.getOnTrueAttr() : branch.getOnFalseAttr());
  }
  auto loop = llvm::cast<control::WhileOp>(op);
  for (;;) {
    auto isTrue = call(loop.getConditionAttr());
    if (!isTrue)
      return isTrue.takeError();
    if (!isTrue->front().integers.front())
      break;
    auto next = call(loop.getBodyAttr());
    if (!next)
      return next.takeError();
    std::move(next->begin(), next->end(), inputs.begin());
  }
  inputs.erase(inputs.begin() + op->getNumResults(), inputs.end());
  return inputs;
}

llvm::Expected<std::vector<Tensor>> evaluate(func::FuncOp function, ArrayRef<Tensor> inputs, WeightReader readWeight,
                                             ArrayRef<int64_t> given, EvaluateOptions options) {
  Values values;
  std::vector<int64_t> symbols(given.begin(), given.end());
  llvm::SmallVector<Symbol> known = getSymbols(function);
  auto defined = definedSymbols(function);
  auto define = [&](Value value, const Tensor &tensor) -> llvm::Error {
    for (unsigned symbol : defined.lookup(value)) {
      int64_t size = symbols[symbol] = tensor.integers.front();
      Range range = getRange(getAffineSymbolExpr(symbol, function.getContext()), known);
      if (size < range.min || size > range.max)
        return makeError("the data decide that " + known[symbol].name + " is " + std::to_string(size) +
                         ", which the model does not allow");
      evaluateExtrema(known, symbols);
    }
    return llvm::Error::success();
  };
  if (auto error = setArguments(function, inputs, readWeight, values))
    return std::move(error);
  for (BlockArgument argument : function.getArguments())
    if (const Tensor *tensor = defined.contains(argument) ? values.get(argument) : nullptr)
      if (auto error = define(argument, *tensor))
        return std::move(error);
  for (Operation &op : function.front()) {
    std::vector<const Tensor *> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.get(operand));
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      std::vector<Tensor> results;
      for (const Tensor *operand : operands)
        results.push_back(*operand);
      return results;
    }
    if (auto external = llvm::dyn_cast<control::ExternalOp>(op))
      return makeError("'" + external.getCallee() + "' is a function of the caller's, which the reference has not");
    bool isControl = llvm::isa<control::IfOp, control::WhileOp, control::FusionBarrierOp>(op);
    auto results =
        isControl ? evaluateControl(&op, operands, readWeight, symbols, options) : evaluate(&op, operands, symbols);
    if (!results)
      return results.takeError();
    for (Value operand : op.getOperands())
      values.release(operand);
    for (auto [value, tensor] : llvm::zip(op.getResults(), *results)) {
      if (options.round)
        tensor.round();
      if (auto error = define(value, tensor))
        return std::move(error);
      values.set(value, std::move(tensor));
    }
  }
  return makeError("the function does not return");
}

} // namespace ptc::prims
