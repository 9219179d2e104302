#include "compiler/schedule/HoistSizes.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/control/Control.h"
#include "dialects/core/SymbolicShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace ptc {

namespace {

/// Operations in an order in which everything precedes what needs it.
class Order {
public:
  Order(Block &block, ArrayRef<SizeDefiner> definers, ArrayRef<Symbol> symbols)
      : block(block), definers(definers), symbols(symbols) {}
  LogicalResult visit(Operation *op);
  ArrayRef<Operation *> operations() const { return done.getArrayRef(); }

private:
  Block &block;
  ArrayRef<SizeDefiner> definers;
  ArrayRef<Symbol> symbols;
  llvm::SetVector<Operation *> done;
  llvm::SmallPtrSet<Operation *, 8> waiting;
};

} // namespace

static bool isExternal(Operation &op) { return llvm::isa<control::ExternalOp>(op); }

SmallVector<SizeDefiner> findSizeDefiners(func::FuncOp function) {
  SmallVector<SizeDefiner> definers;
  for (OpOperand &operand : function.front().getTerminator()->getOpOperands())
    if (auto symbol = function.getResultAttrOfType<IntegerAttr>(operand.getOperandNumber(), "ptc.defines"))
      if (Operation *op = operand.get().getDefiningOp())
        definers.push_back({static_cast<unsigned>(symbol.getInt()), op});
  return definers;
}

bool needsSize(Operation *op, unsigned symbol, ArrayRef<Symbol> symbols) {
  if (hasSize(op, [&](AffineExpr size) { return dependsOn(size, symbol, symbols); }))
    return true;
  // So does what it calls.
  return llvm::any_of(op->getAttrs(), [&](NamedAttribute attribute) {
    auto name = dyn_cast<FlatSymbolRefAttr>(attribute.getValue());
    Operation *called = name ? SymbolTable::lookupNearestSymbolFrom(op, name) : nullptr;
    auto function = dyn_cast_or_null<func::FuncOp>(called);
    return function &&
           llvm::any_of(function.front(), [&](Operation &inner) { return needsSize(&inner, symbol, symbols); });
  });
}

LogicalResult Order::visit(Operation *op) {
  if (!op || done.contains(op))
    return success();
  if (!waiting.insert(op).second)
    return op->emitError() << "needs a size that follows from it";
  SmallVector<Operation *> before;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (operand.getParentBlock() == &block)
        before.push_back(operand.getDefiningOp());
  });
  for (const SizeDefiner &definer : definers)
    if (needsSize(op, definer.symbol, symbols))
      before.push_back(definer.op);
  // Functions of the caller's keep their order.
  auto earlier = llvm::make_range(std::next(op->getReverseIterator()), block.rend());
  if (auto previous = llvm::find_if(earlier, isExternal); isExternal(*op) && previous != earlier.end())
    before.push_back(&*previous);
  for (Operation *other : before)
    if (failed(visit(other)))
      return failure();
  done.insert(op);
  return success();
}

static LogicalResult orderBySizes(func::FuncOp function) {
  SmallVector<SizeDefiner> definers = findSizeDefiners(function);
  if (definers.empty())
    return success();
  for (const SizeDefiner &definer : definers)
    if (definer.op->getName().getDialectNamespace() == "control")
      return definer.op->emitError() << "a size that control flow decides is not supported";
  SmallVector<Symbol> symbols = getSymbols(function);
  Order order(function.front(), definers, symbols);
  for (Operation &op : function.front().without_terminator())
    if (failed(order.visit(&op)))
      return failure();
  for (Operation *op : order.operations())
    op->moveBefore(function.front().getTerminator());
  return success();
}

std::unique_ptr<Pass> createHoistSizesPass() {
  return makeFunctionPass("hoist-sizes", "data-dependent sizes before their uses", orderBySizes);
}

} // namespace ptc
