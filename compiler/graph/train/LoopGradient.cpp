#include "compiler/graph/train/LoopGradient.h"

#include "compiler/graph/train/ControlGradient.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Compute.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/Structure.h"
#include "dialects/prims/Term.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using ptc::prims::Dims;
using ptc::prims::Term;
using ptc::prims::TermBuilder;

namespace ptc {
namespace {

constexpr StringLiteral kProduct = "ptc.product";

/// A value of a step that the derivative of the step reads: what the step began with, or a product, which takes longer
/// to compute again than to read.
struct Kept {
  Value inBody, inGradient;
};

/// Inputs are numbered as the operation has them: first those that go from step to step, `carried` of them.
class LoopGradient {
public:
  LoopGradient(OpBuilder &builder, control::WhileOp op)
      : builder(builder), op(op), table(op->getParentOfType<ModuleOp>()),
        condition(table.lookup<func::FuncOp>(op.getCondition())), body(table.lookup<func::FuncOp>(op.getBody())),
        carried(op->getNumResults()) {}

  FailureOr<SmallVector<Value>> run(ArrayRef<Value> grads, ArrayRef<unsigned> wanted);

private:
  bool findCount();
  LogicalResult differentiateStep(ArrayRef<unsigned> wanted);
  void keepValues();
  SmallVector<Value> walkBack(ArrayRef<Value> grads, ArrayRef<unsigned> wanted);
  func::FuncOp createFunction(StringRef name, TypeRange inputs, TypeRange results);
  void writeBackwardStep(func::FuncOp step, ArrayRef<unsigned> wanted);

  /// The values of all steps together.
  Type stackedType(Value value) const {
    Shape sizes = getShape(value);
    sizes.insert(sizes.begin(), length);
    return makeTensorType(sizes, elementOf(value));
  }

  OpBuilder &builder;
  control::WhileOp op; ///< The loop that keeps values, behind keepValues.
  SymbolTable table;
  func::FuncOp condition, body;
  unsigned carried, counter = 0;
  AffineExpr length;
  func::FuncOp gradient;         ///< Of a step: from its inputs and cotangents, those of `through` and of other inputs.
  SmallVector<unsigned> through; ///< Carried values that cotangents go through.
  SmallVector<Kept> kept;
  SmallVector<Value> stacks; ///< What the loop has kept.
};

std::optional<int64_t> getInteger(Value value) {
  auto full = value.getDefiningOp<prims::FullOp>();
  auto number = full ? dyn_cast<IntegerAttr>(full.getValue()) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

/// A row's cotangent is added where the row lies. `more` stays as it is: it may be the cotangent of other inputs too.
Value addTo(TermBuilder &at, Value sum, Value more) {
  auto scatter = more.getDefiningOp<prims::ScatterOp>();
  auto zeros = scatter && scatter.getCombine() == "sum" ? scatter.getX().getDefiningOp<prims::FullOp>() : nullptr;
  auto zero = zeros ? dyn_cast<FloatAttr>(zeros.getValue()) : FloatAttr();
  if (!zero || !zero.getValue().isZero())
    return (Term(at, sum) + Term(at, more)).value();
  auto added = cast<prims::ScatterOp>(at.builder.clone(*scatter));
  added.getXMutable().assign(sum);
  return added.getResult();
}

} // namespace

/// Whether the condition is `counter < length`, where the counter begins at 0 and each step adds 1.
bool LoopGradient::findCount() {
  auto less = condition.front().getTerminator()->getOperand(0).getDefiningOp<prims::LtOp>();
  if (!less)
    return false;
  auto placeOf = [](func::FuncOp function, Value value) -> unsigned {
    SmallVector<BlockArgument> inputs = control::getInputArguments(function);
    return llvm::find(inputs, value) - inputs.begin();
  };
  counter = placeOf(condition, less->getOperand(0));
  unsigned limit = placeOf(condition, less->getOperand(1)), inputs = op.getInputs().size();
  if (counter >= carried || limit < carried || limit >= inputs || getInteger(op.getInputs()[counter]) != 0)
    return false;
  auto next = body.front().getTerminator()->getOperand(counter).getDefiningOp<prims::AddOp>();
  if (!next || placeOf(body, next->getOperand(0)) != counter || getInteger(next->getOperand(1)) != 1)
    return false;
  Value steps = op.getInputs()[limit];
  if (auto number = getInteger(steps))
    length = getAffineConstantExpr(std::max<int64_t>(*number, 0), op.getContext());
  else if (auto size = steps.getDefiningOp<prims::SizeOp>())
    length = getSizeFromAttr(size.getSize());
  return bool(length);
}

/// Puts a loop in the place of `op` that also answers `stacks`.
void LoopGradient::keepValues() {
  OpBuilder b(op);
  TermBuilder at{b, op.getLoc()};
  SmallVector<Value> inputs(op.getInputs().take_front(carried));
  SmallVector<Type> types(op->getResultTypes());
  for (auto [i, value] : llvm::enumerate(kept)) {
    unsigned place = carried + i;
    Type type = stackedType(value.inBody);
    auto number = StringAttr::get(op.getContext(), std::to_string(place));
    auto role = [&](StringRef name) { return b.getDictionaryAttr(b.getNamedAttr(name, number)); };
    inputs.push_back(Term(at, inputs[counter]).full(0, getShape(type), elementOf(value.inBody)).value());
    types.push_back(type);
    if (failed(condition.insertArgument(place, type, {}, op.getLoc())) ||
        failed(body.insertArgument(place, type, role("ptc.carried"), op.getLoc())) ||
        failed(body.insertResult(place, type, role("ptc.carries"))))
      llvm_unreachable("a function takes one more argument");
    Operation *end = body.front().getTerminator();
    OpBuilder inside(end);
    TermBuilder atEnd{inside, op.getLoc()};
    Term step = reshape(Term(atEnd, body.getArgument(counter)), {b.getAffineConstantExpr(1)});
    Shape row = getShape(type);
    row[0] = b.getAffineConstantExpr(1);
    Term rows =
        scatter(Term(atEnd, body.getArgument(place)), reshape(Term(atEnd, value.inBody), row), step, Dims{0}, "set");
    rows.value().getDefiningOp()->setAttr("in_range", b.getUnitAttr());
    end->insertOperands(place, rows.value());
  }
  llvm::append_range(inputs, op.getInputs().drop_front(carried));
  auto loop = control::WhileOp::create(b, op.getLoc(), types, inputs, op.getConditionAttr(), op.getBodyAttr());
  op->replaceAllUsesWith(loop->getResults().take_front(carried));
  llvm::append_range(stacks, loop->getResults().drop_front(carried));
  op = loop;
}

func::FuncOp LoopGradient::createFunction(StringRef name, TypeRange inputs, TypeRange results) {
  auto function = func::FuncOp::create(op.getLoc(), name, builder.getFunctionType(inputs, results));
  function.setPrivate();
  function.addEntryBlock();
  table.insert(function); // makes the name unique
  return function;
}

/// Takes the step, the cotangents, the sums of cotangents so far; the stacks; the inputs that do not change; weights.
void LoopGradient::writeBackwardStep(func::FuncOp step, ArrayRef<unsigned> others) {
  OpBuilder b = OpBuilder::atBlockEnd(&step.front());
  TermBuilder at{b, op.getLoc()};
  Shape one{b.getAffineConstantExpr(1)};
  ArrayRef<BlockArgument> arguments(step.getArguments());
  Term now(at, arguments[0]), place = reshape(now, one);
  auto cotangents = arguments.slice(1, through.size()), sums = arguments.slice(1 + through.size(), others.size()),
       rows = arguments.slice(1 + through.size() + others.size(), kept.size());
  ArrayRef<BlockArgument> fixed = arguments.drop_front(1 + through.size() + others.size() + kept.size());

  IRMapping map;
  SmallVector<BlockArgument> inputs = control::getInputArguments(gradient);
  unsigned count = inputs.size() - through.size(); // its cotangents come last
  map.map(inputs[counter], now.value());
  for (auto [value, stack] : llvm::zip(kept, rows)) {
    Term row = gather(Term(at, stack), place, Dims{0});
    row.value().getDefiningOp()->setAttr("in_range", b.getUnitAttr());
    map.map(value.inGradient, reshape(row, getShape(value.inGradient)).value());
  }
  for (unsigned i = carried; i < count; ++i)
    map.map(inputs[i], fixed[i - carried]);
  for (auto [argument, cotangent] : llvm::zip(ArrayRef(inputs).drop_front(count), cotangents))
    map.map(argument, cotangent);
  fixed = fixed.drop_front(count - carried);
  for (BlockArgument argument : gradient.getArguments())
    if (Attribute name = gradient.getArgAttr(argument.getArgNumber(), "ptc.weight")) {
      step.setArgAttr(fixed.front().getArgNumber(), "ptc.weight", name);
      map.map(argument, fixed.front());
      fixed = fixed.drop_front();
    }
  for (Operation &inner : gradient.front().without_terminator())
    if (inner.getNumResults() != 1 || !map.contains(inner.getResult(0)))
      b.clone(inner, map);

  auto found = llvm::map_to_vector(gradient.front().getTerminator()->getOperands(),
                                   [&](Value value) { return map.lookup(value); });
  SmallVector<Value> results{(now - 1.0).value()};
  llvm::append_range(results, ArrayRef(found).take_front(through.size()));
  for (auto [sum, more] : llvm::zip(sums, ArrayRef(found).drop_front(through.size())))
    results.push_back(addTo(at, sum, more));
  func::ReturnOp::create(b, op.getLoc(), results);
}

SmallVector<Value> LoopGradient::walkBack(ArrayRef<Value> grads, ArrayRef<unsigned> others) {
  TermBuilder at{builder, op.getLoc()};
  Value counted = op.getInputs()[counter];
  auto steps = prims::SizeOp::create(builder, op.getLoc(), makeSizeAttr(length));
  SmallVector<Value> inputs{(prims::convert(Term(at, steps), elementOf(counted)) - 1.0).value()};
  for (unsigned i : through)
    inputs.push_back(grads[i] ? grads[i] : Term(at, op->getResult(i)).full(0).value());
  for (unsigned i : others)
    inputs.push_back(Term(at, op.getInputs()[i + kept.size()]).full(0).value());
  SmallVector<Type> results = llvm::map_to_vector(inputs, [](Value value) { return value.getType(); });
  llvm::append_range(inputs, stacks);
  llvm::append_range(inputs, op.getInputs().drop_front(carried + kept.size()));
  SmallVector<Type> types = llvm::map_to_vector(inputs, [](Value value) { return value.getType(); });

  func::FuncOp test = createFunction("while_condition_gradient", types, RankedTensorType::get({}, builder.getI1Type()));
  OpBuilder b = OpBuilder::atBlockEnd(&test.front());
  TermBuilder inTest{b, op.getLoc()};
  func::ReturnOp::create(b, op.getLoc(), (Term(inTest, test.getArgument(0)) >= 0.0).value());

  for (BlockArgument argument : gradient.getArguments())
    if (gradient.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      types.push_back(argument.getType());
  func::FuncOp step = createFunction("while_body_gradient", types, results);
  for (unsigned i = 0; i < results.size(); ++i) {
    auto number = builder.getStringAttr(std::to_string(i));
    step.setArgAttr(i, "ptc.carried", number);
    step.setResultAttr(i, "ptc.carries", number);
  }
  writeBackwardStep(step, others);
  eraseDead(step);
  auto loop =
      control::WhileOp::create(builder, op.getLoc(), results, inputs, FlatSymbolRefAttr::get(test.getSymNameAttr()),
                               FlatSymbolRefAttr::get(step.getSymNameAttr()));
  return SmallVector<Value>(loop->getResults().drop_front());
}

/// Makes `gradient`, and finds what it reads.
LogicalResult LoopGradient::differentiateStep(ArrayRef<unsigned> wanted) {
  SmallVector<Type> seeded;
  for (OpResult result : op->getResults())
    seeded.push_back(prims::isField(elementOf(result)) ? result.getType() : Type());
  // Numbers tell which operation of the copy is which.
  SmallVector<Operation *> products;
  for (Operation &inner : body.front())
    if (isa<prims::ContractOp, prims::ConvolutionOp>(inner)) {
      inner.setAttr(kProduct, builder.getI64IntegerAttr(products.size()));
      products.push_back(&inner);
    }
  FailureOr<func::FuncOp> made = differentiateFunction(table, op.getBodyAttr(), seeded, wanted);
  for (Operation *product : products)
    product->removeAttr(kProduct);
  if (failed(made))
    return failure();
  gradient = *made;
  eraseDead(gradient);
  for (Operation &inner : gradient.front())
    if (auto number = dyn_cast_or_null<IntegerAttr>(inner.removeAttr(kProduct)))
      kept.push_back({products[number.getInt()]->getResult(0), inner.getResult(0)});
  // What only products read is not kept: they are not computed again.
  SmallVector<BlockArgument> inputs = control::getInputArguments(gradient), ofBody = control::getInputArguments(body);
  auto isProduct = [&](OpOperand &use) {
    return llvm::any_of(kept, [&](const Kept &value) { return value.inGradient.getDefiningOp() == use.getOwner(); });
  };
  for (unsigned i = 0; i < carried; ++i)
    if (i != counter && !llvm::all_of(inputs[i].getUses(), isProduct))
      kept.push_back({ofBody[i], inputs[i]});
  return success();
}

FailureOr<SmallVector<Value>> LoopGradient::run(ArrayRef<Value> grads, ArrayRef<unsigned> wanted) {
  if (!findCount())
    return op.emitError() << "a derivative through a loop is not supported where sizes do not say how many steps it "
                             "takes";
  for (OpResult result : op->getResults())
    if (prims::isField(elementOf(result)))
      through.push_back(result.getResultNumber());
  SmallVector<unsigned> others = llvm::filter_to_vector(wanted, [&](unsigned i) { return i >= carried; });
  SmallVector<unsigned> all(through);
  llvm::append_range(all, others);
  if (failed(differentiateStep(all)))
    return failure();
  keepValues();
  SmallVector<Value> found = walkBack(grads, others);
  gradient.erase();

  SmallVector<Value> results;
  for (unsigned i : wanted) {
    auto *place = llvm::find(all, i);
    results.push_back(found[place - all.begin()]);
  }
  return results;
}

FailureOr<SmallVector<Value>> differentiateControlFlow(OpBuilder &builder, control::WhileOp op, ArrayRef<Value> grads,
                                                       ArrayRef<unsigned> wanted) {
  return LoopGradient(builder, op).run(grads, wanted);
}

} // namespace ptc
