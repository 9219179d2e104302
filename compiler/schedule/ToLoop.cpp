//===- ToLoop.cpp - the pass, and elementwise prims -----------------------===//

#include "compiler/schedule/ToLoop.h"

#include "compiler/schedule/Lowering.h"
#include "compiler/schedule/Scalars.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/prims/PrimsDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc::schedule {

using namespace loop;

static InFlightDiagnostic reportUnsupported(Operation *op) {
  return op->emitError() << op->getName() << " on " << op->getOperandTypes()
                         << " has no lowering to loops (complex numbers, for one, are not supported)";
}

Lowered lowerElementwise(Lowering &lowering, Operation *op) {
  if (!prims::isElementwise(op))
    return std::nullopt;
  Builder &b = lowering.b;
  bool failed = false;
  Value result = createMap(b, tensorType(op->getResult(0)), [&](ValueRange ids) -> Value {
    SmallVector<Value> elements;
    for (Value operand : op->getOperands())
      elements.push_back(read(b, operand, ids));
    if (Value value = emitScalar(b, op, elements))
      return value;
    failed = true;
    return elements.front();
  });
  if (!failed)
    return SmallVector<Value>{result};
  result.getDefiningOp()->erase();
  reportUnsupported(op);
  return SmallVector<Value>();
}

static Lowered lower(Lowering &lowering, Operation *op) {
  for (auto family : {lowerElementwise, lowerStructure, lowerReduction, lowerTemplate})
    if (Lowered values = family(lowering, op))
      return values;
  return std::nullopt;
}

/// An i1 is packed in attributes and a byte in memory.
static std::vector<char> elementBytes(DenseElementsAttr value) {
  std::vector<char> bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(element);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  int64_t count = value.isSplat() ? value.getNumElements() : 1;
  for (int64_t i = 0; i < count; ++i)
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  return bytes;
}

namespace {
struct ToLoopPass : PassWrapper<ToLoopPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ToLoopPass)

  ToLoopPass(WeightStore &weights, const Limits &limits) : weights(weights), limits(limits) {}
  StringRef getArgument() const final { return "to-loop"; }
  StringRef getDescription() const final { return "Lower prims to loops over scalar bodies"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<loop::LoopDialect, arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(run(function)))
        return signalPassFailure();
  }

  LogicalResult run(func::FuncOp function) {
    Builder b(function.getLoc(), &getContext());
    Lowering lowering{b, limits, [&](ElementsAttr value) { return embed(function, value); }};
    bool ok = true;
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front())) {
      if (op.getName().getDialectNamespace() != prims::PrimsDialect::getDialectNamespace())
        continue;
      b.setInsertionPoint(&op);
      b.setLoc(op.getLoc());
      Lowered values = lower(lowering, &op);
      if (!values)
        reportUnsupported(&op);
      if (!values || values->empty()) {
        ok = false;
        continue;
      }
      for (auto [result, value] : llvm::zip(op.getResults(), *values))
        result.replaceAllUsesWith(value);
      op.erase();
    }
    return success(ok);
  }

  Value embed(func::FuncOp function, ElementsAttr value) {
    auto type = llvm::cast<RankedTensorType>(value.getType());
    std::string key;
    do
      key = "constant." + std::to_string(embedded++);
    while (weights.find(key));
    weights.add(key, type, elementBytes(llvm::cast<DenseElementsAttr>(value)));
    Builder b(function.getLoc(), &getContext());
    auto attributes = b.getDictionaryAttr(b.getNamedAttr("ptc.weight", b.getStringAttr(key)));
    unsigned place = function.getNumArguments();
    (void)function.insertArgument(place, type, attributes, function.getLoc());
    return function.getArgument(place);
  }

  WeightStore &weights;
  Limits limits;
  int64_t embedded = 0;
};
} // namespace

} // namespace ptc::schedule

std::unique_ptr<mlir::Pass> ptc::createToLoopPass(WeightStore &weights, const schedule::Limits &limits) {
  return std::make_unique<schedule::ToLoopPass>(weights, limits);
}
