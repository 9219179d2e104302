//===- Decompose.cpp ------------------------------------------------------===//

#include "compiler/graph/Decompose.h"

#include "compiler/graph/decompose/Table.h"
#include "dialects/prims/PrimsDialect.h"
#include "dialects/prims/Structure.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

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

namespace {

/// The error for an operation without (a fitting) row; the note is the hint.
void report(Operation *op, const Twine &hint) {
  auto diagnostic = op->emitError() << "operator " << op->getName().getStringRef() << " is not supported";
  diagnostic.attachNote() << hint;
}

/// The error for an operation whose operands, arguments and results contradict each other.
void reportMisfit(Operation *op, const Twine &why) {
  auto diagnostic = op->emitError() << "operator " << op->getName().getStringRef() << " does not fit the graph";
  diagnostic.attachNote() << why;
}

std::string hintFor(Operation *op) {
  StringRef name = op->getName().getStringRef();
  const aten::Schema *schema = aten::lookup(name);
  if (!schema)
    return "it is not an operator of PyTorch that ptc knows";
  if (schema->has(aten::Mark::DynamicShape))
    return "the size of its result depends on data";
  if (schema->has(aten::Mark::Random))
    return "it needs random numbers";
  if (schema->mutates())
    return "it writes to its operands in a way that is not functionalized";
  if (schema->has(aten::Mark::Composite))
    return "ExportedProgram.run_decompositions() before saving may replace it by supported operators";
  return "it has no decomposition yet";
}

bool isComplexTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<ComplexType>(tensor.getElementType());
}

struct DecomposePass : PassWrapper<DecomposePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DecomposePass)
  StringRef getArgument() const override { return "ptc-decompose"; }
  StringRef getDescription() const override { return "aten operators as prims, by the decomposition table"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  void runOnOperation() override {
    Scope scope{getSymbols(getOperation()), {}};
    bool failed = false;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &body = function.getBody().front();
      for (Operation &op : llvm::make_early_inc_range(body))
        if (op.getName().getDialectNamespace() == "aten")
          failed |= !decompose(&op, scope);
      TypeRange results = body.getTerminator()->getOperandTypes();
      function.setType(FunctionType::get(&getContext(), function.getArgumentTypes(), results));
    }
    if (failed)
      signalPassFailure();
  }

  bool decompose(Operation *op, Scope &scope) {
    OpBuilder builder(op);
    const Row *row = aten::AtenOp::isKnown(op) ? decompose::table().find(aten::AtenOp(op).name()) : nullptr;
    if (!row)
      return report(op, hintFor(op)), false;
    if (llvm::any_of(op->getOperandTypes(), isComplexTensor) || llvm::any_of(op->getResultTypes(), isComplexTensor))
      return report(op, "complex numbers are not supported"), false;
    B b(builder, op, scope);
    decompose::TList results = row->apply(b, aten::AtenOp(op));
    if (b.hasMisfit())
      return reportMisfit(op, b.getHint()), false;
    if (b.hasFailed())
      return report(op, b.getHint()), false;
    for (OpResult result : op->getResults()) {
      // A result that the program does not use may have no type at all.
      T computed = result.getResultNumber() < results.size() ? results[result.getResultNumber()] : T();
      if (result.use_empty())
        continue;
      if (!computed)
        return report(op, "its result " + Twine(result.getResultNumber()) + " is not supported"), false;
      Value value;
      decompose::attempt(b, [&] { value = b.asDeclared(computed, result.getResultNumber()); });
      if (b.hasMisfit())
        return reportMisfit(op, b.getHint()), false;
      result.replaceAllUsesWith(value);
    }
    op->erase();
    return true;
  }
};

} // namespace

std::unique_ptr<Pass> createDecomposePass() { return std::make_unique<DecomposePass>(); }
void registerDecomposePass() { registerPass([] { return createDecomposePass(); }); }

} // namespace ptc
