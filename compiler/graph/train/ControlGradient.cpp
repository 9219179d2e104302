#include "compiler/graph/train/ControlGradient.h"

#include "compiler/graph/train/Differentiate.h"
#include "dialects/prims/Term.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace ptc {

/// Functions of control flow are called once each: so those that a copy calls are copied as well.
static func::FuncOp copyFunction(SymbolTable &table, FlatSymbolRefAttr name, StringRef suffix) {
  auto function = table.lookup<func::FuncOp>(name.getValue());
  auto copy = function.clone();
  copy.setName((name.getValue() + suffix).str());
  table.insert(copy); // makes the name unique
  copy.walk([&](Operation *op) {
    if (!isa<control::IfOp, control::WhileOp>(op))
      return;
    for (NamedAttribute attr : llvm::to_vector(op->getAttrs()))
      if (auto called = dyn_cast<FlatSymbolRefAttr>(attr.getValue()))
        op->setAttr(attr.getName(), FlatSymbolRefAttr::get(copyFunction(table, called, suffix).getSymNameAttr()));
  });
  return copy;
}

FailureOr<func::FuncOp> differentiateFunction(SymbolTable &table, FlatSymbolRefAttr name, ArrayRef<Type> grads,
                                              ArrayRef<unsigned> wanted) {
  func::FuncOp function = copyFunction(table, name, "_gradient");
  Operation *end = function.front().getTerminator();
  std::vector<Seed> seeds;
  SmallVector<BlockArgument> inputs = control::getInputArguments(function);
  auto values = llvm::map_to_vector(wanted, [&](unsigned i) -> Value { return inputs[i]; });
  for (auto [result, grad] : llvm::zip(end->getOperands(), grads)) {
    if (!grad)
      continue;
    unsigned place = function.getNumArguments();
    if (failed(function.insertArgument(place, grad, {}, result.getLoc())))
      llvm_unreachable("a function takes one more argument");
    seeds.push_back({result, function.getArgument(place)});
  }
  FailureOr<SmallVector<Value>> found = differentiateNested(function, seeds, values);
  if (failed(found))
    return failure();
  OpBuilder builder(end);
  for (auto [value, cotangent] : llvm::zip(values, *found))
    if (!cotangent) {
      prims::TermBuilder at{builder, value.getLoc()};
      cotangent = prims::Term(at, value).full(0).value();
    }
  end->setOperands(*found);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
  function.removeResAttrsAttr();
  return function;
}

FailureOr<SmallVector<Value>> differentiateControlFlow(OpBuilder &builder, control::IfOp op, ArrayRef<Value> grads,
                                                       ArrayRef<unsigned> wanted) {
  SymbolTable table(op->getParentOfType<ModuleOp>());
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<Type> types;
  for (unsigned i : wanted)
    types.push_back(op.getInputs()[i].getType());
  for (Value grad : grads)
    if (grad)
      inputs.push_back(grad);
  auto seeded = llvm::map_to_vector(grads, [](Value grad) { return grad ? grad.getType() : Type(); });
  FailureOr<func::FuncOp> onTrue = differentiateFunction(table, op.getOnTrueAttr(), seeded, wanted);
  FailureOr<func::FuncOp> onFalse = differentiateFunction(table, op.getOnFalseAttr(), seeded, wanted);
  if (failed(onTrue) || failed(onFalse))
    return failure();
  auto gradient = control::IfOp::create(builder, op.getLoc(), types, op.getPredicate(), inputs,
                                        FlatSymbolRefAttr::get(onTrue->getSymNameAttr()),
                                        FlatSymbolRefAttr::get(onFalse->getSymNameAttr()));
  return SmallVector<Value>(gradient->getResults());
}

} // namespace ptc
