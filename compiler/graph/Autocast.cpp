#include "compiler/graph/Autocast.h"

#include "compiler/graph/AutocastPolicy.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ptc {

using aten::AtenOp;
using aten::Call;

namespace {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type elementOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getElementType() : Type();
}

/// float64 stays what it is: who asked for it has a reason.
bool isEligible(Type element) { return element && (element.isF32() || element.isBF16() || element.isF16()); }

RankedTensorType withElement(Type type, Type element) { return makeTensorType(getShape(type), element); }

/// What floating operands of these types promote to: those with dimensions count first. Null: there are none.
Type promote(ArrayRef<Type> types) {
  Type result;
  for (bool scalars : {false, true}) {
    for (Type type : types) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !isa<FloatType>(tensor.getElementType()) || (tensor.getRank() == 0) != scalars)
        continue;
      Type element = tensor.getElementType();
      if (!result || element.getIntOrFloatBitWidth() > result.getIntOrFloatBitWidth())
        result = element;
      else if (element.getIntOrFloatBitWidth() == result.getIntOrFloatBitWidth() && element != result)
        result = Float32Type::get(type.getContext()); // bfloat16 and float16
    }
    if (result)
      return result;
  }
  return result;
}

class Autocast {
public:
  Autocast(func::FuncOp function, Device device, Amp amp)
      : function(function), device(device), f32(Float32Type::get(function.getContext())) {
    if (amp == Amp::Fp16)
      low = Float16Type::get(function.getContext());
    else
      low = BFloat16Type::get(function.getContext());
  }
  void run();

private:
  Value cast(Operation *before, Value value, Type element);
  void castEligible(Operation *op, Type element);
  void restore(Operation *op);
  Type declaredType(Value value) const {
    auto known = declared.find(value);
    return known == declared.end() ? value.getType() : known->second;
  }
  void setResultTypes(const AtenOp &op, AutocastPolicy policy);

  func::FuncOp function;
  Device device;
  Type low, f32;
  DenseMap<Value, Type> declared; ///< by the exporter, of values that have another type now
  DenseMap<std::pair<Value, Type>, Value> casts;
  DenseMap<Value, Value> sources; ///< of casts
};

} // namespace

Value Autocast::cast(Operation *before, Value value, Type element) {
  if (elementOf(value) == element)
    return value;
  Value &known = casts[{value, element}];
  if (!known) {
    OpBuilder builder(before);
    known = Call("_to_copy.default")
                .set("self", value)
                .set("dtype", TypeAttr::get(element))
                .create(builder, before->getLoc(), withElement(value.getType(), element))
                ->getResult(0);
    sources[known] = value;
  }
  return known;
}

void Autocast::castEligible(Operation *op, Type element) {
  for (OpOperand &operand : op->getOpOperands())
    if (isEligible(elementOf(operand.get())))
      operand.set(cast(op, operand.get(), element));
}

/// Whoever is no operator of PyTorch gets what the exporter declared.
void Autocast::restore(Operation *op) {
  for (OpOperand &operand : op->getOpOperands())
    if (auto known = declared.find(operand.get()); known != declared.end())
      operand.set(cast(op, operand.get(), getElementTypeOrSelf(known->second)));
}

/// Gives the results the types that the operands bring.
void Autocast::setResultTypes(const AtenOp &op, AutocastPolicy policy) {
  SmallVector<Type> before, now;
  for (Value operand : op->getOperands()) {
    auto source = sources.find(operand);
    before.push_back(declaredType(source == sources.end() ? operand : source->second));
    now.push_back(operand.getType());
  }
  if (before == now)
    return;
  bool typeIsArgument = op.hasArgument("dtype") && !op.isNone("dtype");
  StringRef name = op.schema().baseName();
  if (name == "type_as" || op.name() == "to.other") {
    before.erase(before.begin());
    now.erase(now.begin());
  }
  Type from = promote(before), to = promote(now);
  if (policy == AutocastPolicy::LikeFirst) {
    from = getElementTypeOrSelf(before.front());
    to = getElementTypeOrSelf(now.front());
  }
  // What is only returned is converted by whoever computes it.
  auto isReadByOperators = [](Value result) { return llvm::any_of(result.getUsers(), AtenOp::isKnown); };
  for (Value result : op->getResults()) {
    if (typeIsArgument || from == to || elementOf(result) != from || !isReadByOperators(result))
      continue;
    declared[result] = result.getType();
    result.setType(withElement(result.getType(), to));
  }
}

void Autocast::run() {
  for (Operation &operation : llvm::make_early_inc_range(function.front())) {
    if (!AtenOp::isKnown(&operation)) {
      restore(&operation);
      continue;
    }
    AtenOp op(&operation);
    AutocastPolicy policy = getAutocastPolicy(op, device);
    bool isComplex = llvm::any_of(operation.getResultTypes(),
                                  [](Type type) { return isa<ComplexType>(getElementTypeOrSelf(type)); });
    if (op.schema().baseName() == "view" && op.hasArgument("dtype"))
      restore(&operation); // the bits of a number
    else if (policy == AutocastPolicy::Lower)
      castEligible(&operation, low);
    else if (policy == AutocastPolicy::Full || isComplex)
      castEligible(&operation, f32);
    else if (policy == AutocastPolicy::Widest) {
      auto isNarrow = [&](Value operand) { return !isEligible(elementOf(operand)) || elementOf(operand) == low; };
      castEligible(&operation, llvm::all_of(operation.getOperands(), isNarrow) ? low : f32);
    }
    setResultTypes(op, policy);
  }
}

std::unique_ptr<Pass> createAutocastPass(Device device, Amp amp) {
  return makeFunctionPass("autocast", "mixed precision as torch.autocast does it", [=](func::FuncOp function) {
    Autocast(function, device, amp).run();
    return success();
  });
}

} // namespace ptc
