#include "compiler/graph/train/BuildGradients.h"

#include "compiler/graph/train/Differentiate.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/Term.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc {

namespace {

/// A value whose derivative is asked for, and the name that it gets.
struct Wanted {
  Value value;
  std::string name;
};

struct BuildGradientsPass : PassWrapper<BuildGradientsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BuildGradientsPass)
  StringRef getArgument() const override { return "build-gradients"; }
  StringRef getDescription() const override { return "gradients as outputs, for cotangents that are inputs"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("forward");
    if (!function || function.isExternal())
      return;
    std::vector<Wanted> wanted = findWanted(function);
    SmallVector<Value> values = llvm::map_to_vector(wanted, [](const Wanted &w) { return w.value; });
    std::vector<Seed> seeds = addCotangents(function, values);
    FailureOr<SmallVector<Value>> found = differentiate(function, seeds, values);
    if (failed(found))
      return signalPassFailure();
    addResults(function, wanted, *found);
    function->setAttr("ptc.entry", StringAttr::get(&getContext(), "gradients"));
  }

private:
  static bool isDifferentiable(Type type) { return prims::isField(cast<RankedTensorType>(type).getElementType()); }
  std::vector<Wanted> findWanted(func::FuncOp function);
  std::vector<Seed> addCotangents(func::FuncOp function, ArrayRef<Value> wanted);
  void addResults(func::FuncOp function, ArrayRef<Wanted> wanted, ArrayRef<Value> found);
};

} // namespace

std::vector<Wanted> BuildGradientsPass::findWanted(func::FuncOp function) {
  std::vector<Wanted> wanted;
  int64_t input = 0;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    bool isInput = function.getArgAttr(i, "ptc.input") != nullptr;
    bool isFrozen = function.removeArgAttr(i, "ptc.frozen") != nullptr;
    if (isInput && !isFrozen && isDifferentiable(argument.getType()))
      wanted.push_back({argument, "grad." + std::to_string(input)});
    else if (function.removeArgAttr(i, "ptc.trainable"))
      for (StringRef role : {"ptc.weight", "ptc.state"})
        if (auto name = function.getArgAttrOfType<StringAttr>(i, role))
          wanted.push_back({argument, "gradient." + name.str()});
    input += isInput;
  }
  return wanted;
}

namespace {
/// Cotangents of outputs whose sizes data decide: those are not known yet when a call gives the cotangent. So it has
/// sizes of its own, and is cut to the output's behind what decides them, or continued by zeros.
class OpenSizes {
public:
  explicit OpenSizes(func::FuncOp function)
      : module(function->getParentOfType<ModuleOp>()), builder(function.getBody().front().getTerminator()),
        symbols(getSymbols(function)) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (auto symbol = function.getResultAttrOfType<IntegerAttr>(i, "ptc.defines"))
        decided.push_back(symbol.getInt());
  }

  /// The type of the cotangent `name` of a value.
  Type open(Value value, const std::string &name);
  Value close(Value cotangent, Value value);

private:
  ModuleOp module;
  OpBuilder builder;
  SmallVector<Symbol> symbols;
  SmallVector<unsigned> decided;
};
} // namespace

Type OpenSizes::open(Value value, const std::string &name) {
  Shape sizes = getShape(value), own = sizes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    AffineExpr size = sizes[i];
    if (llvm::none_of(decided, [&](unsigned symbol) { return dependsOn(size, symbol, symbols); }))
      continue;
    int64_t most = getRange(size, symbols).max;
    bool isBounded = most != std::numeric_limits<int64_t>::max();
    own[i] = builder.getAffineSymbolExpr(symbols.size());
    symbols.push_back({name + "." + std::to_string(i), 0, isBounded ? most : Symbol::kUnbounded, std::nullopt});
  }
  if (own == sizes)
    return value.getType();
  setSymbols(module, symbols);
  return makeTensorType(own, elementOf(value));
}

Value OpenSizes::close(Value cotangent, Value value) {
  prims::TermBuilder at{builder, cotangent.getLoc()};
  prims::Term given(at, cotangent);
  Shape low, high, from = given.shape(), to = getShape(value);
  for (size_t i = 0; i < from.size(); ++i) {
    low.push_back(given.size(0));
    high.push_back(to[i] - from[i]);
  }
  return from == to ? cotangent : prims::pad(given, low, high, prims::Dims(from.size(), 0)).value();
}

/// An input for the cotangent of each output that depends on what is wanted.
std::vector<Seed> BuildGradientsPass::addCotangents(func::FuncOp function, ArrayRef<Value> wanted) {
  std::vector<Seed> seeds;
  DenseSet<Value> dependent = findDependent(function, wanted);
  OpenSizes sizes(function);
  auto end = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  int64_t output = 0;
  for (auto [i, value] : llvm::enumerate(end.getOperands())) {
    if (!function.getResultAttr(i, "ptc.output"))
      continue;
    std::string name = "cotangent." + std::to_string(output++);
    if (!dependent.contains(value))
      continue;
    unsigned place = function.getNumArguments();
    auto role = StringAttr::get(&getContext(), name);
    auto attrs = DictionaryAttr::get(&getContext(), NamedAttribute(StringAttr::get(&getContext(), "ptc.input"), role));
    Type type = sizes.open(value, name);
    if (failed(function.insertArgument(place, type, attrs, NameLoc::get(role))))
      llvm_unreachable("a function takes one more argument");
    seeds.push_back({value, sizes.close(function.getArgument(place), value)});
  }
  return seeds;
}

void BuildGradientsPass::addResults(func::FuncOp function, ArrayRef<Wanted> wanted, ArrayRef<Value> found) {
  Operation *end = function.getBody().front().getTerminator();
  OpBuilder builder(end);
  unsigned place = end->getNumOperands();
  for (auto [w, cotangent] : llvm::zip_equal(wanted, found)) {
    prims::TermBuilder at{builder, w.value.getLoc()};
    Value result = cotangent ? cotangent : prims::Term(at, w.value).full(0).value();
    end->insertOperands(end->getNumOperands(), result);
  }
  function.setType(builder.getFunctionType(function.getArgumentTypes(), end->getOperandTypes()));
  for (const Wanted &w : wanted)
    function.setResultAttr(place++, "ptc.output", builder.getStringAttr(w.name));
}

std::unique_ptr<Pass> createBuildGradientsPass() { return std::make_unique<BuildGradientsPass>(); }

} // namespace ptc
