#include "compiler/graph/train/AddLoss.h"

#include "compiler/graph/train/AddEval.h"
#include "compiler/graph/train/LossFile.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/core/SymbolicShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc {

namespace {

/// What a name on the command line stands for.
struct Loss {
  StringRef name, operation;
  bool ofClasses = false; ///< The target names a class for each place of the output, and not a value for each element.
};

constexpr Loss kLosses[] = {
    {"cross_entropy", "cross_entropy_loss.default", true},
    {"nll", "nll_loss_nd.default", true},
    {"mse", "mse_loss.default"},
    {"l1", "l1_loss.default"},
    {"smooth_l1", "smooth_l1_loss.default"},
    {"bce_with_logits", "binary_cross_entropy_with_logits.default"},
    {"kl_div", "kl_div.default"},
};

class LossAdder {
public:
  LossAdder(func::FuncOp function, StringRef name)
      : function(function), terminator(function.front().getTerminator()), name(name), builder(terminator),
        symbols(getSymbols(function)) {}
  LogicalResult run();

private:
  LogicalResult markOutput(StringRef number);
  LogicalResult add(const Loss &loss);
  void add(func::FuncOp loss);
  void addResult(Value loss);
  FailureOr<RankedTensorType> findTargetType(const Loss &loss, Value output);
  bool isKnownBefore(AffineExpr size);
  unsigned findPlaceOfInput();

  std::string describe(Type type) const;
  std::string describeOutputs();
  static void advise(InFlightDiagnostic diagnostic, const Twine &what) { diagnostic.attachNote() << what; }

  func::FuncOp function;
  Operation *terminator;
  StringRef name;
  OpBuilder builder;
  SmallVector<Symbol> symbols;
  SmallVector<unsigned> outputs; ///< Of the function's results, those that a call answers.
};

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// As exported graphs have it: "f32[s0, 10]".
std::string LossAdder::describe(Type type) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << getElementTypeOrSelf(type) << '[';
  llvm::interleaveComma(getShape(type), out, [&](AffineExpr size) { out << toString(size, symbols); });
  out << ']';
  return text;
}

std::string LossAdder::describeOutputs() {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << (outputs.empty() ? "it has no outputs" : "its outputs are ");
  llvm::interleaveComma(llvm::enumerate(outputs), out, [&](auto output) {
    auto role = function.getResultAttrOfType<StringAttr>(output.value(), "ptc.output");
    out << output.index() << ": '" << role.getValue() << "' " << describe(function.getResultTypes()[output.value()]);
  });
  return text;
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

LogicalResult LossAdder::markOutput(StringRef number) {
  unsigned k = 0;
  bool isAsked = !number.empty();
  if ((isAsked && number.getAsInteger(10, k)) || k >= outputs.size()) {
    advise(function.emitError() << "there is no output " << (isAsked ? number : "0") << " to be the loss",
           describeOutputs());
    return failure();
  }
  auto type = cast<RankedTensorType>(function.getResultTypes()[outputs[k]]);
  if (type.getRank() != 0 || !isa<FloatType>(type.getElementType())) {
    advise(function.emitError() << "output " << k << " is no loss, which is a floating number without dimensions",
           (isAsked ? "" : "--loss names a loss or another output; ") + describeOutputs());
    return failure();
  }
  function.setResultAttr(outputs[k], "ptc.loss", builder.getUnitAttr());
  return success();
}

/// From inputs, and not from what the model computes.
bool LossAdder::isKnownBefore(AffineExpr size) {
  for (unsigned symbol = 0; symbol < symbols.size(); ++symbol) {
    if (symbols[symbol].extremum || !dependsOn(size, symbol, symbols))
      continue;
    bool isBound = false;
    for (BlockArgument argument : function.getArguments()) {
      auto binds = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "ptc.binds");
      isBound |= (binds && binds.getInt() == symbol) ||
                 llvm::any_of(getShape(argument), [&](AffineExpr s) { return s.isFunctionOfSymbol(symbol); });
    }
    if (!isBound)
      return false;
  }
  return true;
}

FailureOr<RankedTensorType> LossAdder::findTargetType(const Loss &loss, Value output) {
  auto type = cast<RankedTensorType>(output.getType());
  auto refuse = [&](const Twine &what, const Twine &advice) {
    advise(emitError(output.getLoc()) << "output 0, " << describe(type) << ", " << what, advice);
    return failure();
  };
  if (!isa<FloatType>(type.getElementType()))
    return refuse("has no floating elements, of which --loss " + loss.name + " is made", describeOutputs());
  Shape sizes = getShape(type);
  if (!llvm::all_of(sizes, [&](AffineExpr size) { return isKnownBefore(size); }))
    return refuse("has a size that data decide, so that no call can bring its target",
                  "compute the loss in the model, and name it by --loss output:K");
  if (!loss.ofClasses)
    return type;
  if (sizes.empty())
    return refuse("has no dimension of classes, which --loss " + loss.name + " chooses from", describeOutputs());
  sizes.erase(sizes.begin() + (sizes.size() > 1));
  return makeTensorType(sizes, builder.getI64Type());
}

/// Behind the other inputs, but for those that a call may leave out: they are the last.
unsigned LossAdder::findPlaceOfInput() {
  unsigned place = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto has = [&](StringRef role) { return function.getArgAttr(i, role) != nullptr; };
    if (!has("ptc.weight") && !has("ptc.state") && !has("ptc.default"))
      place = i + 1;
  }
  return place;
}

LogicalResult LossAdder::add(const Loss &loss) {
  constexpr StringRef kTarget = "target";
  if (outputs.empty()) {
    function.emitError() << "the model has no output to compute --loss " << loss.name << " from";
    return failure();
  }
  for (BlockArgument argument : function.getArguments())
    if (auto input = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptc.input");
        input && input.getValue() == kTarget) {
      advise(emitError(argument.getLoc()) << "the model has an input 'target', as --loss " << loss.name << " would add",
             "compute the loss in the model, and name it by --loss output:K");
      return failure();
    }
  Value output = terminator->getOperand(outputs.front());
  FailureOr<RankedTensorType> targetType = findTargetType(loss, output);
  if (failed(targetType))
    return failure();

  unsigned place = findPlaceOfInput();
  StringAttr targetName = builder.getStringAttr(kTarget), lossName = builder.getStringAttr("loss");
  auto input = builder.getDictionaryAttr(builder.getNamedAttr("ptc.input", targetName));
  (void)function.insertArgument(place, *targetType, input, NameLoc::get(targetName));
  auto type = RankedTensorType::get({}, elementOf(output));
  Operation *op = aten::Call(loss.operation)
                      .set("self", output)
                      .set("target", Value(function.getArgument(place)))
                      .create(builder, NameLoc::get(lossName), {type});
  addResult(op->getResult(0));
  return success();
}

/// What LossFile has put beside the model.
void LossAdder::add(func::FuncOp loss) {
  IRMapping mapping;
  unsigned output = 0;
  SmallVector<Value> answers = llvm::map_to_vector(outputs, [&](unsigned i) { return terminator->getOperand(i); });
  for (BlockArgument argument : loss.getArguments()) {
    unsigned i = argument.getArgNumber();
    bool isInput = loss.getArgAttr(i, "ptc.input") != nullptr;
    if (isInput && output < answers.size()) {
      mapping.map(argument, answers[output++]);
      continue;
    }
    unsigned place = isInput && !loss.getArgAttr(i, "ptc.default") ? findPlaceOfInput() : function.getNumArguments();
    (void)function.insertArgument(place, argument.getType(), loss.getArgAttrDict(i), argument.getLoc());
    mapping.map(argument, function.getArgument(place));
  }
  for (Operation &op : loss.front().without_terminator())
    builder.clone(op, mapping);
  addResult(mapping.lookupOrDefault(loss.front().getTerminator()->getOperand(0)));
  loss.erase();
}

/// In front of the others.
void LossAdder::addResult(Value loss) {
  auto roles = builder.getDictionaryAttr({builder.getNamedAttr("ptc.loss", builder.getUnitAttr()),
                                          builder.getNamedAttr("ptc.output", builder.getStringAttr("loss"))});
  (void)function.insertResult(0, loss.getType(), roles);
  terminator->insertOperands(0, loss);
}

LogicalResult LossAdder::run() {
  bool isMarked = false;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    isMarked |= function.getResultAttr(i, "ptc.loss") != nullptr;
    if (function.getResultAttrOfType<StringAttr>(i, "ptc.output"))
      outputs.push_back(i);
  }
  if (auto own = function->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(kLossFunction); own && !isMarked) {
    add(own);
    return success();
  }
  if (isMarked && name.empty())
    return success();
  if (isMarked)
    return function.emitError() << "the model says which of its results is the loss (leave --loss out)";
  StringRef number = name;
  if (name.empty() || (number.consume_front("output:") && !number.empty()))
    return markOutput(number);
  const Loss *loss = llvm::find_if(kLosses, [&](const Loss &one) { return one.name == name; });
  if (loss != std::end(kLosses))
    return add(*loss);
  std::string known;
  for (const Loss &one : kLosses)
    known += one.name.str() + ", ";
  advise(function.emitError() << "there is no loss '" << name << "'", known + "or output:K");
  return failure();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

struct AddLossPass : PassWrapper<AddLossPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AddLossPass)
  explicit AddLossPass(StringRef name) { loss = name.str(); }
  AddLossPass(const AddLossPass &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "add-loss"; }
  StringRef getDescription() const override { return "The loss of training as a result"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<aten::AtenDialect>(); }

  // Private functions are parts of others, and to evaluate is to train for nothing.
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!function.isPrivate() && function.getName() != kEval && failed(LossAdder(function, loss.getValue()).run()))
        return signalPassFailure();
  }

  Option<std::string> loss{*this, "loss", llvm::cl::desc("its name, or output:K; empty: output 0"), llvm::cl::init("")};
};

} // namespace

std::unique_ptr<Pass> createAddLossPass(StringRef name) { return std::make_unique<AddLossPass>(name); }

} // namespace ptc
