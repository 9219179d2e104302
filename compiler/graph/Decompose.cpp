#include "compiler/graph/Decompose.h"

#include "compiler/graph/LeaveToCaller.h"
#include "compiler/graph/Unsupported.h"
#include "compiler/graph/decompose/Table.h"
#include "compiler/graph/decompose/ViewShapes.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/control/Control.h"
#include "dialects/prims/Elementwise.h"
#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/Structure.h"
#include "runtime/RandomState.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::Row;
using decompose::Scope;
using decompose::T;

bool isSupported(StringRef operation) {
  operation.consume_front("aten.");
  return decompose::table().find(operation);
}

std::string explainUnsupported(const aten::Schema *schema) {
  if (!schema)
    return "it is not an operator of PyTorch that ptc knows";
  if (StringRef why = whyUnsupported(*schema); !why.empty())
    return why.str();
  if (schema->has(aten::Mark::DynamicShape))
    return "the size of its result depends on data";
  if (schema->has(aten::Mark::Random))
    return "its distribution of random numbers is not among those that ptc draws";
  if (schema->mutates())
    return "it writes to its operands in a way that is not functionalized";
  if (schema->has(aten::Mark::Composite))
    return "ExportedProgram.run_decompositions() before saving may replace it by supported operators";
  return "it has no decomposition yet";
}

std::string nameOperator(Operation *op) {
  auto callee = op->getAttrOfType<StringAttr>("ptc.callee");
  return callee ? callee.str() : op->getName().getStringRef().str();
}

std::string explainOperator(Operation *op) {
  auto reason = op->getAttrOfType<StringAttr>("ptc.reason");
  return reason ? reason.str() : explainOperator(op->getName().getStringRef());
}

std::string explainOperator(StringRef name) {
  if (const aten::Schema *schema = aten::lookup(name))
    return explainUnsupported(schema);
  std::vector<StringRef> near = aten::suggest(name);
  return explainUnsupported(nullptr) + (near.empty() ? "" : "; did you mean " + llvm::join(near, ", ") + "?");
}

namespace {
/// Takes back what a row leaves that is only asked, or that fails half way: operations before `op`, and conditions.
class Trial {
public:
  explicit Trial(Operation *op)
      : op(op), before(op->getPrevNode()), guarded(getGuarded(op)),
        guards(guarded ? guarded->getAttr("ptc.guards") : Attribute()) {}

  void undo() {
    while (op->getPrevNode() != before)
      op->getPrevNode()->erase();
    if (guards)
      guarded->setAttr("ptc.guards", guards);
    else if (guarded)
      guarded->removeAttr("ptc.guards");
  }

private:
  Operation *op, *before, *guarded;
  Attribute guards;
};
} // namespace

static llvm::Expected<SmallVector<Type>> findTypes(Operation *op, bool hasShapes) {
  const Row *row = decompose::table().find(aten::AtenOp(op).name());
  if (!row)
    return llvm::createStringError(explainUnsupported(&aten::AtenOp(op).schema()));
  OpBuilder builder(op);
  op->getContext()->loadDialect<prims::PrimsDialect>();
  Scope scope;
  scope.symbols = getSymbols(op);
  size_t symbolCount = scope.symbols.size();
  scope.randomState = [&] {
    auto type = RankedTensorType::get({2}, builder.getI64Type());
    return prims::ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(type, ArrayRef<int64_t>{0, 0}));
  };
  B b(builder, op, scope, hasShapes);
  SmallVector<Type> types;
  auto isNew = [&](AffineExpr size) {
    return llvm::any_of(llvm::seq(symbolCount, scope.symbols.size()),
                        [&](size_t symbol) { return size.isFunctionOfSymbol(symbol); });
  };
  auto checked = [&]() -> llvm::Expected<SmallVector<Type>> {
    for (Type type : types)
      if (llvm::any_of(getShape(type), isNew))
        return llvm::createStringError("a size of its result would be a symbol of its own");
    return types;
  };
  std::optional<SmallVector<decompose::Shape>> views;
  if (!hasShapes)
    decompose::attempt(b, [&] { views = decompose::findViewShapes(b, aten::AtenOp(op)); });
  if (b.hasFailed())
    return llvm::createStringError(b.getHint());
  if (views && views->size() >= op->getNumResults()) {
    Type element = getElementTypeOrSelf(op->getOperand(0));
    for (const decompose::Shape &shape : ArrayRef(*views).take_front(op->getNumResults()))
      types.push_back(makeTensorType(shape, element));
    return checked();
  }
  Trial trial(op); // whose symbols are not the module's
  decompose::TList results = row->apply(b, aten::AtenOp(op));
  bool isComplete = !b.hasFailed() && results.size() >= op->getNumResults() &&
                    llvm::all_of(results, [](const T &result) { return result.isTensor(); });
  for (unsigned i = 0; isComplete && i < op->getNumResults(); ++i)
    types.push_back(results[i].tensor().getType());
  trial.undo();
  if (!isComplete)
    return llvm::createStringError(b.getHint().empty() ? "not every result is a tensor" : b.getHint());
  return checked();
}

llvm::Expected<SmallVector<Type>> findResultTypes(Operation *op) { return findTypes(op, /*hasShapes=*/false); }
llvm::Expected<SmallVector<Type>> findResultTypesNear(Operation *op) { return findTypes(op, /*hasShapes=*/true); }

namespace {

/// The error for an operation without (a fitting) row; the note is the hint.
void report(Operation *op, const Twine &hint) {
  auto diagnostic = op->emitError() << "operator " << nameOperator(op) << " is not supported";
  diagnostic.attachNote() << hint;
}

/// The error for an operation whose operands, arguments and results contradict each other.
void reportMisfit(Operation *op, const Twine &why) {
  auto diagnostic = op->emitError() << "operator " << nameOperator(op) << " does not fit the graph";
  diagnostic.attachNote() << why;
}

bool isComplexTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<ComplexType>(tensor.getElementType());
}

struct DecomposePass : PassWrapper<DecomposePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposePass)
  DecomposePass(WeightStore &weights, bool mayLeave, bool isTraining, bool hasAttentionGradient) : weights(weights) {
    fallback = mayLeave;
    training = isTraining;
    attentionGradient = hasAttentionGradient;
  }
  DecomposePass(const DecomposePass &other) : PassWrapper(other), weights(other.weights) {}
  StringRef getArgument() const override { return "decompose"; }
  StringRef getDescription() const override { return "aten operators as prims, by the decomposition table"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<prims::PrimsDialect, control::ControlDialect>();
  }

  void runOnOperation() override {
    bool failed = false;
    size_t known = getSymbols(getOperation()).size();
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &body = function.getBody().front();
      Scope scope;
      scope.symbols = getSymbols(getOperation());
      scope.known = known;
      scope.isTraining = training;
      scope.savesLogSumExp = training && attentionGradient;
      Value randomState;
      scope.randomState = [&] { return randomState = randomState ? randomState : addRandomArgument(function); };
      size_t symbolCount = scope.symbols.size();
      for (Operation &op : llvm::make_early_inc_range(body))
        if (op.getName().getDialectNamespace() == "aten")
          failed |= !decompose(&op, scope);
      if (scope.symbols.size() > symbolCount)
        setSymbols(getOperation(), scope.symbols);
      if (function.isPrivate() && (randomState || !scope.defined.empty())) {
        function.emitError(randomState ? "random numbers inside control flow are not supported"
                                       : "sizes that data decide inside control flow are not supported");
        return signalPassFailure();
      }
      if (randomState)
        advance(function, randomState, scope.draws);
      TypeRange results = body.getTerminator()->getOperandTypes();
      function.setType(FunctionType::get(&getContext(), body.getArgumentTypes(), results));
      if (randomState)
        function.setResultAttr(results.size() - 1, "ptc.writes_state",
                               StringAttr::get(&getContext(), runtime::kRandomState));
      failed |= !returnSizes(function, scope.defined);
    }
    if (failed)
      signalPassFailure();
  }

  /// Sizes that data decide are results with a role of their own.
  bool returnSizes(func::FuncOp function, ArrayRef<decompose::DefinedSize> sizes) {
    Operation *end = function.getBody().front().getTerminator();
    auto isEndless = [](const decompose::DefinedSize &size) { return !size.most; };
    if (auto endless = llvm::find_if(sizes, isEndless); endless != sizes.end() && !mayStartOver(function)) {
      auto diagnostic =
          mlir::emitError(endless->where)
          << "the data decide a size that has no upper bound, and a call that lacks room for it cannot start "
             "over where states or inputs are written or functions of the caller's are called";
      diagnostic.attachNote() << "give a bound by torch._check";
      return false;
    }
    for (const decompose::DefinedSize &size : sizes) {
      unsigned place = end->getNumOperands();
      end->insertOperands(place, size.value);
      function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(), end->getOperandTypes()));
      function.setResultAttr(place, "ptc.defines", IntegerAttr::get(IntegerType::get(&getContext(), 64), size.symbol));
      if (size.most)
        function.setResultAttr(place, "ptc.most", makeSizeAttr(size.most));
    }
    return true;
  }

  /// Whether what a call has done until it fails leaves no trace.
  static bool mayStartOver(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, "ptc.writes_state") || function.getResultAttr(i, "ptc.writes_input"))
        return false;
    return !function.walk([](control::ExternalOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  Value addRandomArgument(func::FuncOp function) {
    addRandomState(weights, getContext());
    unsigned index = function.getNumArguments();
    auto name = StringAttr::get(&getContext(), runtime::kRandomState);
    auto role = DictionaryAttr::get(&getContext(), NamedAttribute(StringAttr::get(&getContext(), "ptc.state"), name));
    auto type = RankedTensorType::get({2}, IntegerType::get(&getContext(), 64));
    if (failed(function.insertArgument(index, type, role, function.getLoc())))
      llvm_unreachable("a function takes one more argument");
    return function.getArgument(index);
  }

  /// The function leaves the state after its draws.
  void advance(func::FuncOp function, Value state, int64_t draws) {
    Operation *end = function.getBody().front().getTerminator();
    OpBuilder builder(end);
    auto step = DenseElementsAttr::get(cast<RankedTensorType>(state.getType()), ArrayRef<int64_t>{0, draws});
    Value taken = prims::ConstantOp::create(builder, end->getLoc(), step);
    Value next = prims::AddOp::create(builder, end->getLoc(), state, taken);
    end->insertOperands(end->getNumOperands(), next);
  }

  /// What the operation's row makes of it; an error says why that is nothing. A misfit is the builder's to tell.
  llvm::Expected<decompose::TList> apply(Operation *op, B &b) {
    const Row *row = aten::AtenOp::isKnown(op) ? decompose::table().find(aten::AtenOp(op).name()) : nullptr;
    if (!row)
      return llvm::createStringError(explainOperator(op));
    decompose::TList results = row->apply(b, aten::AtenOp(op));
    if (b.hasMisfit())
      return results;
    if (b.hasFailed())
      return llvm::createStringError(b.getHint());
    results.resize(std::max<size_t>(results.size(), op->getNumResults()));
    for (auto [result, computed] : llvm::zip(op->getResults(), results)) {
      // A result that the program does not use may have no type at all.
      if (result.use_empty())
        continue;
      if (!computed)
        return llvm::createStringError("its result " + Twine(result.getResultNumber()) + " is not supported");
      // A row that does not think of complex numbers does not answer for them.
      if (computed.isTensor() && isComplexTensor(computed.tensor().getType()) && !isComplexTensor(result.getType()))
        return llvm::createStringError("not of complex numbers");
    }
    return results;
  }

  /// No size is below 0: where an exporter's sizes did not show that one may be, it is a condition of calls.
  void requireSizes(B &b, Operation *made) {
    for (Type type : made->getResultTypes())
      for (AffineExpr size : getShape(type))
        if (!getConstant(size))
          b.require(b.size(0), size);
  }

  bool decompose(Operation *op, Scope &scope) {
    OpBuilder builder(op);
    B b(builder, op, scope);
    Trial trial(op);
    Operation *before = op->getPrevNode();
    std::optional<Scope> scopeBefore = fallback ? std::optional(scope) : std::nullopt;
    llvm::Expected<decompose::TList> results = apply(op, b);
    if (!results && !fallback) {
      std::string hint = llvm::toString(results.takeError());
      report(op, hint + (training || !whyNotLeft(op, scope).empty() ? "" : "; --fallback leaves it to the caller"));
      return false;
    }
    if (!results) {
      trial.undo();
      scope = std::move(*scopeBefore);
      return leave(op, scope, llvm::toString(results.takeError()));
    }
    for (auto [result, computed] : llvm::zip(op->getResults(), *results)) {
      if (result.use_empty() || b.hasMisfit())
        continue;
      Value value;
      auto declare = [&, place = result.getResultNumber(), &from = computed] { value = b.asDeclared(from, place); };
      decompose::attempt(b, declare);
      if (!b.hasMisfit())
        result.replaceAllUsesWith(value);
    }
    if (b.hasMisfit())
      return reportMisfit(op, b.getHint()), false;
    for (Operation *made = op->getPrevNode(); made != before; made = made->getPrevNode())
      requireSizes(b, made);
    op->erase();
    return true;
  }

  bool leave(Operation *op, Scope &scope, const std::string &reason) {
    OpBuilder builder(op);
    B b(builder, op, scope);
    llvm::Error error = leaveToCaller(op, b, scope, reason);
    if (!error)
      return true;
    report(op, reason + "; it cannot be left to the caller: " + llvm::toString(std::move(error)));
    return false;
  }

  WeightStore &weights;
  Option<bool> fallback{*this, "fallback", llvm::cl::desc("leave what has no decomposition to the caller"),
                        llvm::cl::init(false)};
  Option<bool> training{*this, "training", llvm::cl::desc("keep what stops derivatives"), llvm::cl::init(false)};
  Option<bool> attentionGradient{*this, "attention-gradient",
                                 llvm::cl::desc("the device has a kernel of attention's derivative"),
                                 llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> createDecomposePass(WeightStore &weights, bool fallback, bool training, bool attentionGradient) {
  return std::make_unique<DecomposePass>(weights, fallback, training, attentionGradient);
}

} // namespace ptc
