#include "compiler/codegen/cpu/pack/Packer.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace ptc::cpu {

BlockArgument Packer::weightArgument(Value value) {
  if (auto inner = llvm::dyn_cast<BlockArgument>(value))
    if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp()))
      value = kernel.getInputs()[inner.getArgNumber()];
  auto argument = llvm::dyn_cast<BlockArgument>(value);
  auto function = argument ? llvm::dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function || !function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
    return {};
  return argument;
}

StringRef Packer::keyOf(BlockArgument weight) {
  auto function = llvm::cast<func::FuncOp>(weight.getOwner()->getParentOp());
  return function.getArgAttrOfType<StringAttr>(weight.getArgNumber(), "ptc.weight").getValue();
}

LogicalResult Packer::replaceWeight(OpOperand &use, const WeightView &view, int64_t panel, ArrayRef<int64_t> shape) {
  Type element = llvm::cast<RankedTensorType>(use.get().getType()).getElementType();
  auto type = RankedTensorType::get(shape, element);
  return replaceWeight(use, getPackedName(view, panel), type,
                       [&](StringRef name) { weights.add(name, type, pack(view, panel)); });
}

LogicalResult Packer::replaceWeight(OpOperand &use, StringRef suffix, RankedTensorType type,
                                    llvm::function_ref<void(StringRef name)> addWeight) {
  BlockArgument argument = weightArgument(use.get());
  auto function = llvm::cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::string name = (keyOf(argument) + "." + suffix).str();
  BlockArgument packed;
  for (BlockArgument other : function.getArguments()) {
    auto attr = function.getArgAttrOfType<StringAttr>(other.getArgNumber(), "ptc.weight");
    if (attr && attr.getValue() == name && other.getType() == type)
      packed = other;
  }
  if (!packed) {
    if (!weights.find(name)) // packed already for another target
      addWeight(name);
    unsigned index = function.getNumArguments();
    Builder builder(type.getContext());
    auto attrs = builder.getDictionaryAttr(builder.getNamedAttr("ptc.weight", builder.getStringAttr(name)));
    if (failed(function.insertArgument(index, type, attrs, argument.getLoc())))
      return failure();
    packed = function.getArgument(index);
  }
  auto inner = llvm::dyn_cast<BlockArgument>(use.get());
  if (auto kernel = llvm::dyn_cast<loop::KernelOp>(inner.getOwner()->getParentOp())) {
    kernel.getInputsMutable()[inner.getArgNumber()].set(packed);
    inner.setType(type);
  } else {
    use.set(packed);
  }
  return success();
}

int64_t Packer::groupOf(Type lhs, Type rhs, int64_t innerSize, bool slowPairs) const {
  bool isBytes = lhs.isInteger(8) && rhs.isInteger(8);
  bool usesPairs = target.hasBf16Dot() && (slowPairs || target.hasFastBf16Dot());
  return innerSize == 1 ? 1 : rhs.isBF16() && usesPairs ? 2 : isBytes && target.hasInt8Dot() ? 4 : 1;
}

} // namespace ptc::cpu
