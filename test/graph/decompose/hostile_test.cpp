// Every row of the decomposition table against arguments that no PyTorch has checked, as a hostile file gives them: a
// row answers or says why not, and the process goes on. PTC_HOSTILE_ROW, PTC_HOSTILE_TRIES and PTC_HOSTILE_SEED try
// one row, more often, or otherwise.

#include "compiler/graph/Decompose.h"
#include "compiler/graph/decompose/Table.h"
#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <limits>
#include <random>

using namespace ptc;
using namespace mlir;

namespace {
class Hostile {
public:
  explicit Hostile(uint64_t seed) : random(seed), b(&context) {
    context.loadDialect<func::FuncDialect, aten::AtenDialect, prims::PrimsDialect>();
    module = ModuleOp::create(b.getUnknownLoc());
    setSymbols(*module, {{"n", 0, Symbol::kUnbounded, {}}, {"m", 2, 10, {}}});
    b.setInsertionPointToEnd(module->getBody());
    function = func::FuncOp::create(b, b.getUnknownLoc(), "main", b.getFunctionType({}, {}));
    b.setInsertionPointToEnd(function.addEntryBlock());
  }

  /// A call of the operator; null where not even an aten operation is made so.
  Operation *call(const aten::Schema &schema) {
    rank = pick({0, 1, 2, 2, 3, 3, 4, 4, 5});
    element = randomElement();
    aten::Call call(schema);
    for (const aten::Argument &argument : schema.arguments)
      set(call, argument);
    SmallVector<Type> results;
    for (const aten::Return &result : schema.returns)
      for (int64_t i = result.isList ? chooseUpTo(4) : 1; i > 0; --i)
        results.push_back(randomTensor());
    Operation *op = call.create(b, b.getUnknownLoc(), results);
    if (succeeded(verify(op)))
      return op;
    take(op);
    return nullptr;
  }
  /// Takes back a call and what it was given.
  void take(Operation *op) {
    op->erase();
    if (failed(function.eraseArguments(llvm::BitVector(function.getNumArguments(), true))))
      FAIL("a function loses its arguments");
  }

  MLIRContext context;

private:
  template <class V> V pick(std::initializer_list<V> from) { return from.begin()[random() % from.size()]; }
  int64_t chooseUpTo(int64_t most) { return int64_t(random() % uint64_t(most + 1)); }
  bool seldom() { return random() % 6 == 0; }

  int64_t randomInt() {
    return seldom() ? pick<int64_t>({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 1 << 20,
                                     int64_t(1) << 32, int64_t(1) << 62, -1000000, 63, 64, 1025})
                    : pick<int64_t>({-2, -1, 0, 0, 1, 1, 2, 2, 3, 4});
  }
  AffineExpr symbol() { return b.getAffineSymbolExpr(unsigned(chooseUpTo(1))) + pick({0, 0, 1, -1}); }
  AffineExpr randomSize() { return seldom() ? symbol() : b.getAffineConstantExpr(pick({0, 1, 1, 2, 2, 3})); }
  double randomReal() {
    return pick({0.0, 0.5, 1.0, 1.0, 2.0, -1.0, 1e300, 1e-300, std::numeric_limits<double>::infinity(),
                 std::numeric_limits<double>::quiet_NaN()});
  }
  Type randomElement() {
    return pick<Type>({b.getF32Type(), b.getF32Type(), b.getF32Type(), b.getF64Type(), b.getF16Type(), b.getBF16Type(),
                       b.getI64Type(), b.getI64Type(), b.getI32Type(), b.getI16Type(), b.getI8Type(),
                       b.getIntegerType(8, false), b.getI1Type(), ComplexType::get(b.getF32Type())});
  }
  Type randomTensor() {
    Shape sizes;
    for (int64_t i = seldom() ? chooseUpTo(5) : rank; i > 0; --i)
      sizes.push_back(randomSize());
    return makeTensorType(sizes, seldom() ? randomElement() : element);
  }
  Value tensor() {
    unsigned place = function.getNumArguments();
    if (failed(function.insertArgument(place, randomTensor(), {}, b.getUnknownLoc())))
      FAIL("a function takes one more argument");
    return function.getArgument(place);
  }

  Attribute randomAttribute(const aten::Argument &argument) {
    switch (argument.kind) {
    case aten::Kind::Int:
      return seldom() ? makeSizeAttr(symbol()) : b.getI64IntegerAttr(randomInt());
    case aten::Kind::Float:
      return b.getF64FloatAttr(randomReal());
    case aten::Kind::Bool:
      return b.getBoolAttr(random() & 1);
    case aten::Kind::Scalar:
      return pick<Attribute>({b.getI64IntegerAttr(randomInt()), b.getF64FloatAttr(randomReal()), b.getBoolAttr(true),
                              b.getDenseF64ArrayAttr({randomReal(), randomReal()}), makeSizeAttr(symbol())});
    case aten::Kind::ScalarType:
      return TypeAttr::get(randomElement());
    default:
      return b.getStringAttr(pick<const char *>(
          {"",         "none", "mean", "sum",  "floor",  "trunc",     "constant", "reflect",   "replicate",
           "circular", "tanh", "ij",   "xy",   "linear", "midpoint",  "forward",  "ortho",     "complete",
           "reduced",  "r",    "prod", "amax", "left",   "fro",       "nuc",      "ij,jk->ik", "...ij,jk",
           "ii->i",    "ii",   "->",   "i,i",  "a,,b->", "...a->a..."}));
    }
  }
  Attribute randomList(const aten::Argument &argument) {
    int64_t count = pick({argument.listSize ? int64_t(argument.listSize) : rank, std::max<int64_t>(rank - 2, 0), rank,
                          chooseUpTo(4), int64_t(1)});
    SmallVector<AffineExpr> sizes;
    SmallVector<double> reals;
    SmallVector<Attribute> others;
    bool isSymbolic = seldom();
    for (; count > 0; --count) {
      sizes.push_back(isSymbolic && seldom() ? symbol() : b.getAffineConstantExpr(randomInt()));
      reals.push_back(randomReal());
      others.push_back(randomAttribute(argument));
    }
    if (argument.kind == aten::Kind::Bool)
      return b.getDenseBoolArrayAttr(SmallVector<bool>(sizes.size(), bool(random() & 1)));
    return argument.kind == aten::Kind::Int     ? makeSizesAttr(sizes, &context)
           : argument.kind == aten::Kind::Float ? Attribute(b.getDenseF64ArrayAttr(reals))
                                                : Attribute(b.getArrayAttr(others));
  }
  void set(aten::Call &call, const aten::Argument &argument) {
    if ((argument.isOptional || argument.hasDefault) && random() % 2)
      return;
    if (!argument.isTensor())
      return void(call.set(argument.name, argument.isList ? randomList(argument) : randomAttribute(argument)));
    SmallVector<Value> tensors;
    for (int64_t i = argument.isList ? pick({0, 1, 2, 2, 3, 4, 8}) : 1; i > 0; --i)
      tensors.push_back(argument.areElementsOptional && seldom() ? Value() : tensor());
    if (argument.isList)
      call.set(argument.name, tensors);
    else
      call.set(argument.name, tensors.front());
  }

  std::mt19937_64 random;
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  int64_t rank = 0;
  Type element;
};

/// As Decompose runs the row in training, where it says its derivative, too.
llvm::Expected<SmallVector<Type>> runInTraining(Operation *op) {
  OpBuilder builder(op);
  decompose::Scope scope;
  scope.symbols = getSymbols(op);
  scope.isTraining = scope.savesLogSumExp = true;
  scope.randomState = [&] {
    auto type = RankedTensorType::get({2}, builder.getI64Type());
    return prims::ConstantOp::create(builder, op->getLoc(), DenseElementsAttr::get(type, ArrayRef<int64_t>{0, 0}));
  };
  decompose::B b(builder, op, scope);
  Operation *before = op->getPrevNode();
  decompose::TList results = decompose::table().find(aten::AtenOp(op).name())->apply(b, aten::AtenOp(op));
  SmallVector<Type> types;
  decompose::attempt(b, [&] {
    for (unsigned i = 0; !b.hasFailed() && i < std::min<size_t>(results.size(), op->getNumResults()); ++i)
      if (results[i])
        types.push_back(b.asDeclared(results[i], i).getType());
  });
  while (op->getPrevNode() != before)
    op->getPrevNode()->erase();
  op->getParentOfType<ModuleOp>()->removeAttr("ptc.guards");
  if (b.hasFailed())
    return llvm::createStringError(b.getHint());
  return types;
}

uint64_t readNumber(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
} // namespace

TEST_CASE("a row survives arguments that nobody has checked") {
  const char *only = std::getenv("PTC_HOSTILE_ROW");
  uint64_t tries = readNumber("PTC_HOSTILE_TRIES", 40), seed = readNumber("PTC_HOSTILE_SEED", 1);
  size_t answers = 0;
  for (const auto &entry : decompose::table().all()) {
    if (only && entry.first() != only)
      continue;
    const aten::Schema *schema = aten::lookup(entry.first());
    REQUIRE(schema);
    Hostile hostile(seed);
    ScopedDiagnosticHandler quiet(&hostile.context, [](Diagnostic &) {});
    for (uint64_t i = 0; i < tries; ++i) {
      Operation *op = hostile.call(*schema);
      if (!op)
        continue;
      std::string text;
      llvm::raw_string_ostream(text) << *op;
      INFO(text);
      for (auto find : {findResultTypes, findResultTypesNear, runInTraining}) {
        llvm::Expected<SmallVector<Type>> types = find(op);
        answers += bool(types);
        if (!types && llvm::toString(types.takeError()).empty())
          FAIL("it fails without a word");
      }
      hostile.take(op);
    }
  }
  CHECK((only || answers > 1000));
}
