#include "compiler/graph/ExpandScan.h"

#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/core/SymbolicShape.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using ptc::aten::Call;

namespace ptc {
namespace {

/// Steps that are written out have at most so many operations together: more of them take longer to compile than the
/// trips of a loop cost.
constexpr int64_t kMostOperations = 2000;

int64_t rankOf(Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// The elements of a list are slices of a tensor along its first dimension: one rank more than the graph's.
class Expansion {
public:
  Expansion(Operation *op, bool isScan, SmallVectorImpl<Operation *> &made)
      : op(op), body(op->getRegion(0).front()), yield(&body.back()), isScan(isScan), made(made), b(op),
        loc(op->getLoc()) {}

  LogicalResult expand();

private:
  LogicalResult read();
  void writeOut(int64_t steps);
  void writeLoop();
  void writeTest(Block *block, unsigned length);
  void writeStep(Block *block, unsigned others);
  SmallVector<Value> copyStep(IRMapping &map, SmallVectorImpl<Operation *> *operators);

  /// Whether a result goes from step to step; the others have a row of each.
  bool isCarried(unsigned result) const { return result < carried; }
  bool isList(unsigned place) const { return rankOf(op->getOperand(place)) != rankOf(body.getArgument(place)); }
  /// What all steps' results are together.
  Type stackedType(unsigned result) const {
    Type row = yield->getOperand(result).getType();
    Shape sizes = getShape(row);
    sizes.insert(sizes.begin(), length);
    return makeTensorType(sizes, getElementTypeOrSelf(row));
  }
  Value create(const Call &call, Type type) { return call.create(b, loc, type)->getResult(0); }
  Call reshape(Value x, ShapeRef sizes) {
    return Call("reshape.default").set("self", x).set("shape", sizes, b.getContext());
  }
  AffineExpr constant(int64_t value) { return getAffineConstantExpr(value, b.getContext()); }

  Operation *op;
  Block &body;
  Operation *yield;
  bool isScan;
  SmallVectorImpl<Operation *> &made;
  OpBuilder b;
  Location loc;
  AffineExpr length;
  unsigned carried = 0; ///< Operands and results of a scan that go from step to step; they come first.
};

} // namespace

LogicalResult Expansion::read() {
  auto misfit = [&] {
    return op->emitError() << "operator " << op->getName()
                           << " has a graph that does not take its inputs or does not answer its results";
  };
  if (body.getNumArguments() != op->getNumOperands() || yield->getNumOperands() != op->getNumResults())
    return misfit();
  for (auto [argument, operand] : llvm::zip(body.getArguments(), op->getOperands())) {
    int64_t more = rankOf(operand) - rankOf(argument);
    if (more != 0 && more != 1)
      return misfit();
    if (more == 0) {
      carried += isScan && !length;
      continue;
    }
    AffineExpr size = getShape(operand)[0];
    if (length && !isEqual(length, size))
      return misfit();
    length = size;
  }
  if (!length || carried > op->getNumResults())
    return misfit();
  for (unsigned i = 0; i < op->getNumResults(); ++i) {
    Type type = isCarried(i) ? op->getOperand(i).getType() : stackedType(i);
    bool isFitting = !isCarried(i) || yield->getOperand(i).getType() == type;
    if (!isFitting || (!op->getResult(i).use_empty() && op->getResult(i).getType() != type))
      return misfit();
  }
  return success();
}

LogicalResult Expansion::expand() {
  if (failed(read()))
    return failure();
  auto steps = getConstant(length);
  int64_t operations = std::distance(body.begin(), body.end());
  if (steps && *steps > 0 && *steps <= std::max<int64_t>(1, kMostOperations / operations))
    writeOut(*steps);
  else
    writeLoop();
  op->erase();
  return success();
}

/// The graph where the builder stands; what it answers. `operators`: those that take graphs join them.
SmallVector<Value> Expansion::copyStep(IRMapping &map, SmallVectorImpl<Operation *> *operators) {
  for (Operation &inner : llvm::make_range(body.begin(), yield->getIterator())) {
    Operation *copy = b.clone(inner, map);
    if (operators && copy->getName().getStringRef().starts_with("aten.higher_order."))
      operators->push_back(copy);
  }
  return llvm::map_to_vector(yield->getOperands(), [&](Value value) { return map.lookup(value); });
}

void Expansion::writeOut(int64_t steps) {
  SmallVector<Value> state(op->operand_begin(), op->operand_begin() + carried);
  SmallVector<SmallVector<Value>> rows(op->getNumResults());
  for (int64_t step = 0; step < steps; ++step) {
    IRMapping map;
    for (auto [place, argument] : llvm::enumerate(body.getArguments())) {
      Value operand = isCarried(place) ? state[place] : op->getOperand(place);
      if (isList(place))
        operand = create(Call("select.int").set("self", operand).set("dim", constant(0)).set("index", constant(step)),
                         argument.getType());
      map.map(argument, operand);
    }
    SmallVector<Value> answers = copyStep(map, &made);
    state.assign(answers.begin(), answers.begin() + carried);
    for (unsigned i = carried; i < answers.size(); ++i)
      rows[i].push_back(answers[i]);
  }
  for (OpResult result : op->getResults()) {
    unsigned i = result.getResultNumber();
    if (!result.use_empty())
      result.replaceAllUsesWith(
          isCarried(i) ? state[i]
                       : create(Call("stack.default").set("tensors", ArrayRef<Value>(rows[i])).set("dim", constant(0)),
                                stackedType(i)));
  }
}

/// The loop's operands: the step, the results so far, the number of steps, and the other operands.
void Expansion::writeLoop() {
  auto full = [&](ShapeRef sizes, AffineExpr value, Type element) {
    return create(Call("full.default")
                      .set("size", sizes, b.getContext())
                      .set("fill_value", value)
                      .set("dtype", TypeAttr::get(element)),
                  makeTensorType(sizes, element));
  };
  SmallVector<Value> operands{full({}, constant(0), b.getI64Type())};
  llvm::append_range(operands, op->getOperands().take_front(carried));
  for (unsigned i = carried; i < op->getNumResults(); ++i)
    operands.push_back(full(getShape(stackedType(i)), constant(0), getElementTypeOrSelf(stackedType(i))));
  auto results = llvm::map_to_vector(operands, [](Value value) { return value.getType(); });
  operands.push_back(full({}, length, b.getI64Type()));
  unsigned others = operands.size();
  llvm::append_range(operands, op->getOperands().drop_front(carried));

  OperationState state(loc, "aten.higher_order.while_loop");
  state.addOperands(operands);
  state.addTypes(results);
  state.addRegion();
  state.addRegion();
  Operation *loop = b.create(state);
  SmallVector<Location> places(operands.size(), loc);
  TypeRange types = loop->getOperandTypes();
  writeTest(b.createBlock(&loop->getRegion(0), {}, types, places), others - 1);
  writeStep(b.createBlock(&loop->getRegion(1), {}, types, places), others);
  for (OpResult result : op->getResults())
    if (!result.use_empty())
      result.replaceAllUsesWith(loop->getResult(1 + result.getResultNumber()));
  made.push_back(loop);
}

void Expansion::writeTest(Block *block, unsigned length) {
  Value goesOn = create(Call("lt.Tensor").set("self", block->getArgument(0)).set("other", block->getArgument(length)),
                        RankedTensorType::get({}, b.getI1Type()));
  aten::createUnknown(b, loc, "aten.yield", goesOn, {}, {});
}

void Expansion::writeStep(Block *block, unsigned others) {
  Value step = block->getArgument(0);
  Shape one{constant(1)};
  Value place = create(reshape(step, one), makeTensorType(one, b.getI64Type()));
  auto withOne = [&](Type row) {
    Shape sizes = getShape(row);
    sizes.insert(sizes.begin(), constant(1));
    return makeTensorType(sizes, getElementTypeOrSelf(row));
  };
  IRMapping map;
  for (auto [i, argument] : llvm::enumerate(body.getArguments())) {
    Value operand = block->getArgument(isCarried(i) ? 1 + i : others + i - carried);
    if (isList(i)) {
      Value row = create(Call("index_select.default").set("self", operand).set("dim", constant(0)).set("index", place),
                         withOne(argument.getType()));
      operand = create(reshape(row, getShape(argument)), argument.getType());
    }
    map.map(argument, operand);
  }
  SmallVector<Value> next{create(Call("add.Scalar").set("self", step).set("other", constant(1)), step.getType())};
  for (auto [i, answer] : llvm::enumerate(copyStep(map, nullptr))) {
    Value all = block->getArgument(1 + i);
    if (isCarried(i)) {
      next.push_back(answer);
      continue;
    }
    Type row = withOne(answer.getType());
    next.push_back(create(Call("index_copy.default")
                              .set("self", all)
                              .set("dim", constant(0))
                              .set("index", place)
                              .set("source", create(reshape(answer, getShape(row)), row)),
                          all.getType()));
  }
  aten::createUnknown(b, loc, "aten.yield", next, {}, {});
}

LogicalResult expandScan(Operation *op, bool isScan, SmallVectorImpl<Operation *> &made) {
  return Expansion(op, isScan, made).expand();
}

} // namespace ptc
