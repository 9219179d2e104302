#include "compiler/graph/train/Rematerialise.h"

#include "compiler/graph/train/SavedValues.h"
#include "dialects/control/Control.h"
#include "dialects/prims/Structure.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc {

namespace {

/// Copies of forward operations in the backward pass of a function.
class Repeater {
public:
  Repeater(const DenseSet<Operation *> &forward, const SavedValues &values) : forward(forward), values(values) {}

  void run(func::FuncOp function);

private:
  void repeatFor(Operation *reader);
  void separate(BlockArgument argument);
  void copy(Operation *op, OpBuilder &builder);
  Value readAgain(Value operand, OpBuilder &builder);

  const DenseSet<Operation *> &forward;
  const SavedValues &values;
  IRMapping copies;              ///< of values that are repeated
  DenseMap<Value, Value> behind; ///< the barriers of the values that one run of copies reads
};

} // namespace

/// What has no operands, as numbers that follow from places, is a part of any kernel.
static bool isNumbers(Value value) { return value.getDefiningOp() && !value.getDefiningOp()->getNumOperands(); }

Value Repeater::readAgain(Value operand, OpBuilder &builder) {
  if (values.repeated.contains(operand))
    return copies.lookup(operand);
  if (isNumbers(operand))
    return operand;
  Value &barrier = behind[operand];
  if (!barrier)
    barrier = control::FusionBarrierOp::create(builder, operand.getLoc(), operand);
  return barrier;
}

void Repeater::copy(Operation *op, OpBuilder &builder) {
  Operation *copied = builder.clone(*op, copies);
  for (OpOperand &operand : copied->getOpOperands()) {
    OpBuilder before(copied);
    operand.set(readAgain(op->getOperand(operand.getOperandNumber()), before));
  }
  // Whether an index is in its range is known since the forward pass.
  if (isa<prims::GatherOp, prims::ScatterOp>(copied))
    copied->setAttr("in_range", UnitAttr::get(op->getContext()));
}

/// In front of the reader, operands first.
void Repeater::repeatFor(Operation *reader) {
  behind.clear();
  OpBuilder builder(reader);
  SmallVector<Value> left;
  auto isLeft = [&](Value value) { return values.repeated.contains(value) && !copies.contains(value); };
  llvm::copy_if(reader->getOperands(), std::back_inserter(left), isLeft);
  while (!left.empty()) {
    Value value = left.back();
    Operation *op = value.getDefiningOp();
    size_t before = left.size();
    if (isLeft(value))
      llvm::copy_if(op->getOperands(), std::back_inserter(left), isLeft);
    if (left.size() > before)
      continue;
    left.pop_back();
    if (isLeft(value))
      copy(op, builder);
  }
  for (OpOperand &operand : reader->getOpOperands())
    if (values.repeated.contains(operand.get()))
      operand.set(copies.lookup(operand.get()));
}

/// Or what the backward pass makes of an argument alone, as a turned weight, would be made by the kernel that reads it
/// in the forward pass, and lie there until it is needed.
void Repeater::separate(BlockArgument argument) {
  Block &block = *argument.getOwner();
  SmallVector<OpOperand *> uses;
  Operation *first = nullptr;
  for (OpOperand &use : argument.getUses()) {
    Operation *reader = use.getOwner();
    if (reader->getBlock() != &block || forward.contains(reader) || reader == block.getTerminator() ||
        isa<control::FusionBarrierOp>(reader))
      continue;
    uses.push_back(&use);
    first = first && first->isBeforeInBlock(reader) ? first : reader;
  }
  if (!first)
    return;
  OpBuilder builder(first);
  Value barrier = control::FusionBarrierOp::create(builder, argument.getLoc(), argument);
  for (OpOperand *use : uses)
    use->set(barrier);
}

void Repeater::run(func::FuncOp function) {
  Block &block = function.front();
  SmallVector<Operation *> readers;
  for (Operation &op : block.without_terminator())
    if (!forward.contains(&op))
      readers.push_back(&op);
  for (Operation *reader : readers)
    repeatFor(reader);
  for (BlockArgument argument : block.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(), "ptc.weight"))
      separate(argument);
}

/// For `ptc explain`: what the values are, and what computing them again takes.
static ArrayAttr describe(ArrayRef<Value> values, MLIRContext *context) {
  Builder b(context);
  SmallVector<Attribute> entries;
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    entries.push_back(b.getDictionaryAttr(
        {b.getNamedAttr("type", TypeAttr::get(value.getType())),
         b.getNamedAttr("op", b.getStringAttr(op->getName().stripDialect())), b.getNamedAttr("loc", value.getLoc()),
         b.getNamedAttr("bytes", b.getI64IntegerAttr(estimateBytes(value))),
         b.getNamedAttr("nanoseconds", b.getI64IntegerAttr(estimateTime(op))),
         b.getNamedAttr("cheap", b.getBoolAttr(getRepetition(op) == Repetition::Cheap))}));
  }
  return b.getArrayAttr(entries);
}

/// Operations that were copied, views left out.
static SmallVector<Value> findRepeated(func::FuncOp function, const SavedValues &values) {
  SmallVector<Value> repeated;
  for (Operation &op : function.front())
    for (Value result : op.getResults())
      if (values.repeated.contains(result) && getRepetition(&op) != Repetition::Free)
        repeated.push_back(result);
  return repeated;
}

static void rematerialise(func::FuncOp function, std::optional<double> budget) {
  auto mark = llvm::dyn_cast_or_null<IntegerAttr>(function->removeAttr("ptc.forward"));
  if (!mark || !budget)
    return;
  DenseSet<Operation *> forward = findForward(function, mark.getInt());
  SavedValues values = chooseSaved(function, forward, *budget);
  function->setAttr("ptc.saved", describe(values.saved, function.getContext()));
  function->setAttr("ptc.repeated", describe(findRepeated(function, values), function.getContext()));
  Repeater(forward, values).run(function);
}

namespace {
struct RematerialisePass : PassWrapper<RematerialisePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RematerialisePass)
  explicit RematerialisePass(std::optional<double> given) {
    if (given)
      budget = *given;
  }
  RematerialisePass(const RematerialisePass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "rematerialise"; }
  StringRef getDescription() const override { return "values of the forward pass are computed again"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<control::ControlDialect>(); }

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        rematerialise(function, budget < 0 ? std::nullopt : std::optional<double>(budget.getValue()));
  }

  Option<double> budget{*this, "budget", llvm::cl::desc("from 0 to 1; negative: nothing is computed again"),
                        llvm::cl::init(-1)};
};
} // namespace

std::unique_ptr<Pass> createRematerialisePass(std::optional<double> budget) {
  return std::make_unique<RematerialisePass>(budget);
}

} // namespace ptc
