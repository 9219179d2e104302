#include "compiler/explain/OperatorExample.h"

#include "compiler/graph/Decompose.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using ptc::aten::Argument;
using ptc::aten::Kind;

namespace ptc {
namespace {

constexpr int64_t kSize = 4;

bool isRequired(const Argument &argument) { return !argument.hasDefault && !argument.isOptional; }

/// Positions, classes and masks have a type of their own, whatever the other tensors have.
Type elementTypeOf(const Argument &argument, Type element) {
  StringRef name = argument.name;
  if (name.contains("indices") || name == "index" || name == "target" || name == "repeats")
    return IntegerType::get(element.getContext(), 64);
  if (name.contains("mask") || name == "condition")
    return IntegerType::get(element.getContext(), 1);
  return element;
}

/// A number that is in range for most: the first of the dimensions, one of everything else.
int64_t numberFor(StringRef name, unsigned position) {
  if (name.contains("dim") || name == "axis")
    return position;
  return name.contains("size") && !name.contains("kernel") ? kSize : name == "start" || name == "index" ? 0 : 1;
}

/// Null where no value is likely to fit.
Attribute attributeFor(const Argument &argument, unsigned rank, Builder &b) {
  switch (argument.kind) {
  case Kind::Int: {
    if (!argument.isList)
      return b.getI64IntegerAttr(numberFor(argument.name, 0));
    SmallVector<int64_t> numbers;
    for (unsigned i = 0, n = argument.listSize ? argument.listSize : rank; i < n; ++i)
      numbers.push_back(numberFor(argument.name, i));
    return b.getDenseI64ArrayAttr(numbers);
  }
  case Kind::Float:
    return argument.isList ? Attribute(b.getDenseF64ArrayAttr(SmallVector<double>(argument.listSize, 1.0)))
                           : b.getF64FloatAttr(1.0);
  case Kind::Bool:
    return argument.isList ? Attribute() : b.getBoolAttr(false);
  case Kind::Scalar:
    return argument.isList ? Attribute() : b.getI64IntegerAttr(1);
  case Kind::ScalarType:
    return TypeAttr::get(b.getF32Type());
  default:
    return {};
  }
}

/// Called with the results' types of before; answers the operation, or null.
Operation *createCall(const aten::Schema &schema, const ExampleArguments &arguments, Type element, OpBuilder &b,
                      Block &block) {
  aten::Call call(schema);
  unsigned next = 0, firstRank = arguments.ranks.empty() ? 1 : arguments.ranks.front();
  for (const Argument &argument : schema.arguments) {
    if (!isRequired(argument))
      continue;
    if (argument.isTensor()) {
      Shape sizes = makeShape(SmallVector<int64_t>(arguments.ranks[next++], kSize), b.getContext());
      auto type = makeTensorType(sizes, elementTypeOf(argument, element));
      SmallVector<Value> values;
      for (int i = 0, n = argument.isList ? 2 : 1; i < n; ++i)
        values.push_back(block.addArgument(type, b.getUnknownLoc()));
      argument.isList ? call.set(argument.name, ArrayRef<Value>(values)) : call.set(argument.name, values.front());
      continue;
    }
    Attribute attribute = attributeFor(argument, firstRank, b);
    if (!attribute)
      return nullptr;
    call.set(argument.name, attribute);
  }
  // A guess, which what the row computes replaces.
  Type guess = block.getNumArguments()
                   ? block.getArgument(0).getType()
                   : Type(makeTensorType(makeShape(SmallVector<int64_t>(firstRank, kSize), b.getContext()), element));
  SmallVector<Type> results;
  for (const aten::Return &result : schema.returns)
    results.append(result.isList ? 2 : 1, guess);
  return call.create(b, b.getUnknownLoc(), results);
}

unsigned countRequiredTensors(const aten::Schema &schema) {
  return llvm::count_if(schema.arguments, [](const Argument &a) { return a.isTensor() && isRequired(a); });
}

} // namespace

OwningOpRef<ModuleOp> makeExample(const aten::Schema &schema, const ExampleArguments &arguments, import::DType dtype,
                                  MLIRContext *context) {
  OpBuilder b(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, b.getUnknownLoc());
  b.setInsertionPointToStart(module->getBody());
  auto function = func::FuncOp::create(b, b.getUnknownLoc(), "forward", b.getFunctionType({}, {}));
  Block &block = *function.addEntryBlock();
  b.setInsertionPointToStart(&block);
  Operation *op = createCall(schema, arguments, import::toType(dtype, context), b, block);
  if (!op || op->getNumResults() == 0)
    return {};
  func::ReturnOp end = func::ReturnOp::create(b, b.getUnknownLoc(), op->getResults());
  function.setType(b.getFunctionType(block.getArgumentTypes(), op->getResultTypes()));
  auto types = findResultTypesNear(op);
  if (!types) {
    llvm::consumeError(types.takeError());
    return {};
  }
  for (auto [result, type] : llvm::zip(op->getResults(), *types))
    result.setType(type);
  function.setType(b.getFunctionType(block.getArgumentTypes(), end.getOperandTypes()));
  for (unsigned i = 0; i < block.getNumArguments(); ++i)
    function.setArgAttr(i, "ptc.input", b.getStringAttr("x" + std::to_string(i)));
  return module;
}

std::optional<ExampleArguments> findExampleArguments(const aten::Schema &schema, MLIRContext *context) {
  static constexpr unsigned kRanks[] = {2, 4, 1, 3, 0, 5};
  unsigned count = countRequiredTensors(schema);
  // Up to three tensors have ranks of their own; of more, all have one.
  size_t tries = 1;
  for (unsigned i = 0; i < std::min(count, 3u); ++i)
    tries *= std::size(kRanks);
  for (import::DType dtype : {import::DType::Float32, import::DType::Int64})
    for (size_t attempt = 0; attempt < tries; ++attempt) {
      ExampleArguments arguments;
      size_t rest = attempt;
      for (unsigned i = 0; i < count; ++i, rest /= std::size(kRanks))
        arguments.ranks.push_back(kRanks[count > 3 ? attempt % std::size(kRanks) : rest % std::size(kRanks)]);
      if (makeExample(schema, arguments, dtype, context))
        return arguments;
    }
  return std::nullopt;
}

} // namespace ptc
