#include "dialects/control/Control.h"

#include "llvm/Support/JSON.h"

using namespace mlir;

#include "dialects/control/ControlDialect.cpp.inc"

#define GET_OP_CLASSES
#include "dialects/control/Control.cpp.inc"

namespace ptc::control {

void ControlDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/control/Control.cpp.inc"
      >();
}

func::FuncOp getFunction(Operation *op, FlatSymbolRefAttr name) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, name);
}

SmallVector<func::FuncOp> getFunctions(Operation *op) {
  if (auto branch = dyn_cast<IfOp>(op))
    return {getFunction(op, branch.getOnTrueAttr()), getFunction(op, branch.getOnFalseAttr())};
  if (auto loop = dyn_cast<WhileOp>(op))
    return {getFunction(op, loop.getConditionAttr()), getFunction(op, loop.getBodyAttr())};
  return {};
}

SmallVector<BlockArgument> getInputArguments(func::FuncOp function) {
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : function.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      arguments.push_back(argument);
  return arguments;
}

/// Whether the function takes the inputs and answers the results. Of its inputs the first `carried` are a loop's own,
/// which it may write over.
static LogicalResult verifyFunction(Operation *op, SymbolTableCollection &symbols, FlatSymbolRefAttr name,
                                    TypeRange inputs, TypeRange results, unsigned carried = 0) {
  auto function = symbols.lookupNearestSymbolFrom<func::FuncOp>(op, name);
  if (!function || function.isExternal())
    return op->emitOpError() << "calls " << name << ", which is not a function of this module";
  SmallVector<BlockArgument> arguments = getInputArguments(function);
  if (TypeRange(ValueRange(llvm::to_vector_of<Value>(arguments))) != inputs)
    return op->emitOpError() << "calls " << name << " with inputs that it does not take";
  if (TypeRange(function.getResultTypes()) != results)
    return op->emitOpError() << "calls " << name << ", which answers other results";
  for (BlockArgument argument : llvm::drop_begin(arguments, std::min<size_t>(carried, arguments.size())))
    if (function.getArgAttr(argument.getArgNumber(), "ptc.carried"))
      return op->emitOpError() << "calls " << name << ", which writes over an input that no loop carries";
  return success();
}

static bool isOneBool(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isInteger(1) && tensor.hasStaticShape() && tensor.getNumElements() == 1;
}

LogicalResult IfOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!isOneBool(getPredicate().getType()))
    return emitOpError("needs a predicate of one bool");
  for (FlatSymbolRefAttr name : {getOnTrueAttr(), getOnFalseAttr()})
    if (failed(verifyFunction(*this, symbols, name, getInputs().getTypes(), getResultTypes())))
      return failure();
  return success();
}

LogicalResult WhileOp::verifySymbolUses(SymbolTableCollection &symbols) {
  TypeRange inputs = getInputs().getTypes();
  if (inputs.size() < getNumResults() || inputs.take_front(getNumResults()) != getResultTypes())
    return emitOpError("has results of other types than its first inputs");
  auto condition = symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getConditionAttr());
  if (condition && (condition.getNumResults() != 1 || !isOneBool(condition.getResultTypes()[0])))
    return emitOpError("has a condition that does not answer one bool");
  if (failed(verifyFunction(*this, symbols, getBodyAttr(), inputs, getResultTypes(), getNumResults())))
    return failure();
  return verifyFunction(*this, symbols, getConditionAttr(), inputs,
                        condition ? condition.getResultTypes() : TypeRange());
}

/// Whether every object with a "tensor" or an "int" names an input, and with a "result" a result.
static bool refersTo(const llvm::json::Value &value, int64_t inputs, int64_t results) {
  auto isBelow = [](std::optional<int64_t> number, int64_t count) { return number && *number >= 0 && *number < count; };
  if (const auto *list = value.getAsArray())
    return llvm::all_of(*list, [&](const llvm::json::Value &element) { return refersTo(element, inputs, results); });
  const auto *object = value.getAsObject();
  if (!object)
    return true;
  for (const auto &[key, member] : *object) {
    bool isInput = key == "tensor" || key == "int";
    if ((isInput || key == "result") && !isBelow(member.getAsInteger(), isInput ? inputs : results))
      return false;
  }
  return true;
}

LogicalResult ExternalOp::verify() {
  llvm::Expected<llvm::json::Value> call = llvm::json::parse(getCall());
  if (!call)
    return emitOpError() << "has a call that is not JSON: " << llvm::toString(call.takeError());
  const llvm::json::Object *object = call->getAsObject();
  const llvm::json::Array *positional = object ? object->getArray("args") : nullptr;
  const llvm::json::Object *named = object ? object->getObject("kwargs") : nullptr;
  if (!positional || !named)
    return emitOpError() << "has a call without 'args' and 'kwargs'";
  auto isSound = [&](const llvm::json::Value &value) { return refersTo(value, getInputs().size(), getNumResults()); };
  if (!llvm::all_of(*positional, isSound) || !llvm::all_of(*named, [&](auto &one) { return isSound(one.second); }))
    return emitOpError() << "has a call that refers to a tensor which is not there";
  FunctionType seen = getSeen();
  if (seen.getNumInputs() != getInputs().size() || seen.getNumResults() != getNumResults())
    return emitOpError() << "has a signature of another number of tensors";
  return success();
}

} // namespace ptc::control
