//===- Functionalize.cpp --------------------------------------------------===//
//
// One walk in program order. Operands are replaced by the value that their
// tensor has now (FunctionalizeAliases), writing operations by functional ones
// (FunctionalizeWrites); views are only noted (FunctionalizeViews).
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/Functionalize.h"

#include "compiler/graph/FunctionalizeAliases.h"
#include "compiler/graph/FunctionalizeCopies.h"
#include "compiler/graph/FunctionalizeViews.h"
#include "compiler/graph/FunctionalizeWrites.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/aten/AtenDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <numeric>

using namespace mlir;
using llvm::StringRef;
using ptc::aten::AtenOp;
using ptc::aten::Call;
using ptc::aten::Mark;

namespace ptc {

//===----------------------------------------------------------------------===//
// Questions about one operation
//===----------------------------------------------------------------------===//

/// Training-mode normalisation writes its running statistics although its
/// schema does not say so.
static bool updatesStatistics(const AtenOp &op) {
  StringRef base = op.schema().baseName();
  if (base == "batch_norm" || base == "native_batch_norm")
    return op.boolean("training") && !op.isNone("running_mean") && !op.isNone("running_var");
  if (base == "instance_norm")
    return op.boolean("use_input_stats") && !op.isNone("running_mean");
  return false;
}

/// Writes nothing that a functional program could see.
static bool isIdentity(const AtenOp &op) {
  StringRef base = op.schema().baseName();
  if (base == "detach_" || base == "requires_grad_" || base == "retain_grad")
    return true;
  if (base == "dropout_" || base == "feature_dropout_" || base == "alpha_dropout_" || base == "feature_alpha_dropout_")
    return !op.boolean("train") || op.real("p") == 0;
  return false;
}

static bool mayBeView(const AtenOp &op) {
  if (op->getNumOperands() == 0)
    return false;
  return op.schema().isView() || op.schema().has(Mark::InplaceView) || op.schema().has(Mark::MaybeAliases);
}

/// An aliasing result, or a new size given, differs from what is written.
static bool changesSize(const AtenOp &op, ArrayRef<Value> written) {
  StringRef base = op.schema().baseName();
  if (base == "set_" || base == "_resize_output_")
    return true;
  if (op.schema().has(Mark::InplaceView))
    return false;
  auto next = written.begin();
  for (auto [result, declared] : llvm::zip(op->getResults(), op.schema().returns))
    if (declared.alias.written && result.getType() != (*next++).getType())
      return true;
  return false;
}

/// Of the operands' names, those of one argument.
static ArrayRef<Value> namesOf(const AtenOp &op, ArrayRef<Value> names, StringRef argument) {
  auto segments = op->getAttrOfType<DenseI32ArrayAttr>(aten::kSegmentsAttr).asArrayRef();
  int index = op.schema().indexOf(argument);
  return names.drop_front(std::accumulate(segments.begin(), segments.begin() + index, 0)).take_front(segments[index]);
}

/// A determinant with its factors, which are of the transposed matrix where a real one lies in rows.
static bool factorizesAsItLies(const AtenOp &op) {
  StringRef base = op.schema().baseName();
  return (base == "_linalg_det" || base == "_linalg_slogdet") &&
         !isa<ComplexType>(getElementTypeOrSelf(op->getOperand(0)));
}

static bool needsWork(Operation *op) {
  if (!AtenOp::isKnown(op))
    return false;
  AtenOp call(op);
  return call.schema().mutates() || updatesStatistics(call) || factorizesAsItLies(call) ||
         call.schema().baseName() == "as_strided";
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

namespace {
class Functionalizer {
public:
  explicit Functionalizer(func::FuncOp function)
      : function(function), builder(function.getContext()), strides(getSymbols(function)), copies(function) {}
  LogicalResult run();

private:
  LogicalResult visit(Operation *op);
  LogicalResult write(const AtenOp &op, Value name, Value updated);
  LogicalResult visitWrite(const AtenOp &op, ArrayRef<Value> names);
  LogicalResult visitBatchNorm(const AtenOp &op, ArrayRef<Value> names);
  LogicalResult visitInstanceNorm(const AtenOp &op, ArrayRef<Value> names);
  LogicalResult visitAsStrided(const AtenOp &op, Value name);
  LogicalResult visitResize(const AtenOp &op, Value name);
  Value inOrderOfMemory(const AtenOp &op, Value root);
  void visitDeterminant(const AtenOp &op);
  void visitViewInPlace(const AtenOp &op, const aten::Schema &functional, Value name);
  void returnWrites();
  void eraseDead();

  func::FuncOp function;
  OpBuilder builder;
  Aliases aliases;
  Strides strides;
  Copies copies;
  SmallVector<Operation *> replaced;
};
} // namespace

LogicalResult Functionalizer::visit(Operation *op) {
  builder.setInsertionPoint(op);
  bool isKnown = AtenOp::isKnown(op);
  if (isKnown && mayBeView(AtenOp(op)) && failed(checkView(AtenOp(op))))
    return failure();
  bool isAlias = isKnown && isAliasOfFirstOperand(AtenOp(op), strides);
  if (isKnown && !isAlias)
    copies.visit(AtenOp(op), strides);
  strides.visit(op, isAlias || (isKnown && AtenOp(op).schema().has(Mark::InplaceView)));
  SmallVector<Value> names(op->getOperands());
  // Regions too: what they capture has a value of now.
  op->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      if (operand.get().getParentBlock() == &function.front())
        operand.set(aliases.read(builder, operand.get()));
  });
  if (!isKnown)
    return success();
  AtenOp call(op);
  if (call.schema().mutates())
    return visitWrite(call, names);
  if (updatesStatistics(call))
    return visitBatchNorm(call, names);
  if (call.schema().baseName() == "as_strided")
    return visitAsStrided(call, names[0]);
  if (factorizesAsItLies(call) && !strides.isContiguous(names[0]))
    visitDeterminant(call);
  if (isAlias)
    aliases.addView(op, names[0]);
  return success();
}

LogicalResult Functionalizer::write(const AtenOp &op, Value name, Value updated) {
  return failed(copies.checkWrite(op, name, aliases)) ? failure() : aliases.write(builder, op.loc(), name, updated);
}

static LogicalResult refuseNewSize(const AtenOp &op) {
  return op->emitError() << "cannot compile " << op->getName()
                         << ": it changes the size of a tensor in place (create a new tensor instead)";
}

LogicalResult Functionalizer::visitWrite(const AtenOp &op, ArrayRef<Value> names) {
  SmallVector<Value> written;
  for (const aten::Argument &argument : op.schema().arguments)
    if (argument.alias.written)
      llvm::append_range(written, namesOf(op, names, argument.name));
  StringRef base = op.schema().baseName();
  if (base == "resize_" || base == "resize_as_")
    return visitResize(op, written[0]);
  if (changesSize(op, written))
    return refuseNewSize(op);

  if (op.schema().has(Mark::InplaceView) && !isIdentity(op)) {
    const aten::Schema *functional = findFunctional(op.schema());
    if (!functional)
      return op->emitError() << "cannot compile " << op->getName() << ": there is no such view out of place";
    visitViewInPlace(op, *functional, written[0]);
  } else if (!isIdentity(op)) {
    FailureOr<Effects> effects = createFunctional(builder, op);
    if (failed(effects))
      return failure();
    for (auto [name, value] : llvm::zip(written, effects->written))
      if (failed(write(op, name, value)))
        return failure();
    auto fresh = effects->results.begin();
    for (auto [result, declared] : llvm::zip(op->getResults(), op.schema().returns))
      if (!declared.alias.written)
        result.replaceAllUsesWith(*fresh++);
  }
  // An aliasing result is another name of what was written: add_ returns self.
  size_t next = 0;
  for (auto [result, declared] : llvm::zip(op->getResults(), op.schema().returns))
    if (declared.alias.written)
      aliases.bind(result, written[next++]);
  replaced.push_back(op.operation());
  return success();
}

/// x.t_(): x becomes a view of what it was; every name of x sees it.
void Functionalizer::visitViewInPlace(const AtenOp &op, const aten::Schema &functional, Value name) {
  Operation *view = Call(functional).copyArguments(op).create(builder, op.loc(), op->getResultTypes());
  aliases.replaceByView(view, name);
}

/// As PyTorch does it: every channel of every instance is a channel of one batch, and the statistics that come out for
/// it are means over the instances.
LogicalResult Functionalizer::visitInstanceNorm(const AtenOp &op, ArrayRef<Value> names) {
  MLIRContext *context = op->getContext();
  Value input = op.tensor("input");
  Shape sizes = getShape(input), merged = sizes;
  AffineExpr instances = sizes[0], channels = sizes[1], one = getAffineConstantExpr(1, context);
  merged[0] = one, merged[1] = instances * channels;
  auto create = [&](Call call, ShapeRef shape, Value like) {
    return call.create(builder, op.loc(), makeTensorType(shape, getElementTypeOrSelf(like)))->getResult(0);
  };
  auto view = [&](Value x, ShapeRef shape) {
    return create(Call("view.default").set("self", x).set("size", shape, context), shape, x);
  };
  auto repeated = [&](StringRef argument) -> Value {
    Value x = op.tensor(argument);
    if (!x)
      return {};
    return create(Call("repeat.default").set("self", x).set("repeats", ShapeRef(instances), context), {merged[1]}, x);
  };
  Call call("_native_batch_norm_legit_functional.default");
  call.set("input", view(input, merged));
  for (StringRef argument : {"weight", "bias", "running_mean", "running_var"})
    if (Value x = repeated(argument))
      call.set(argument, x);
  call.set("training", builder.getBoolAttr(true));
  call.set("momentum", op.attribute("momentum"));
  call.set("eps", op.attribute("eps"));
  SmallVector<Type> types{makeTensorType(merged, getElementTypeOrSelf(input))};
  for (int i = 0; i < 4; ++i)
    types.push_back(makeTensorType({merged[1]}, getElementTypeOrSelf(op.tensor("running_mean"))));
  Operation *norm = call.create(builder, op.loc(), types);
  op.result().replaceAllUsesWith(view(norm->getResult(0), sizes));
  auto mean = [&](unsigned result) {
    Value matrix = view(norm->getResult(result), {instances, channels});
    Shape first{getAffineConstantExpr(0, context)};
    return create(Call("mean.dim").set("self", matrix).set("dim", first, context), {channels}, matrix);
  };
  replaced.push_back(op.operation());
  return success(succeeded(write(op, namesOf(op, names, "running_mean")[0], mean(3))) &&
                 succeeded(write(op, namesOf(op, names, "running_var")[0], mean(4))));
}

LogicalResult Functionalizer::visitBatchNorm(const AtenOp &op, ArrayRef<Value> names) {
  if (op.schema().baseName() == "instance_norm")
    return visitInstanceNorm(op, names);
  Value mean = op.tensor("running_mean"), variance = op.tensor("running_var");
  Operation *update = Call("_native_batch_norm_legit_functional.default")
                          .copyArguments(op)
                          .create(builder, op.loc(),
                                  {op.result().getType(), mean.getType(), variance.getType(), mean.getType(),
                                   variance.getType()});
  for (OpResult result : op->getResults()) {
    Value updated = update->getResult(result.getResultNumber());
    updated.setType(result.getType());
    result.replaceAllUsesWith(updated);
  }
  Value meanName = namesOf(op, names, "running_mean")[0], varianceName = namesOf(op, names, "running_var")[0];
  replaced.push_back(op.operation());
  return success(succeeded(write(op, meanName, update->getResult(3))) &&
                 succeeded(write(op, varianceName, update->getResult(4))));
}

/// A view of `root` with its dimensions in the order of memory, where that has no gaps.
Value Functionalizer::inOrderOfMemory(const AtenOp &op, Value root) {
  Shape sizes = getShape(root), steps = strides.of(root), ordered;
  SmallVector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!llvm::all_of(steps, [](AffineExpr step) { return getConstant(step).has_value(); }))
    return {};
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return *getConstant(steps[a]) > *getConstant(steps[b]); });
  for (int64_t dim : order)
    ordered.push_back(sizes[dim]);
  Type type = makeTensorType(ordered, getElementTypeOrSelf(root));
  Operation *view = Call("permute.default")
                        .set("self", aliases.read(builder, root))
                        .set("dims", builder.getDenseI64ArrayAttr(order))
                        .create(builder, op.loc(), type);
  Shape dense = contiguousStrides(ordered, op->getContext());
  for (auto [dim, step] : llvm::zip(order, dense))
    if (getConstant(sizes[dim]) != 1 && !isEqual(steps[dim], step))
      return view->erase(), Value();
  aliases.addView(view, root);
  return view->getResult(0);
}

/// Counts in memory, not in its argument: make it a view of the whole memory.
LogicalResult Functionalizer::visitAsStrided(const AtenOp &op, Value name) {
  Value root = aliases.rootOf(name);
  if (root != name && op.isNone("storage_offset"))
    return op->emitError() << "cannot compile " << op->getName() << " of a view without storage_offset";
  if (!strides.isContiguous(root))
    root = inOrderOfMemory(op, root);
  if (!root)
    return op->emitError() << "cannot compile " << op->getName() << " of a tensor that is not contiguous";
  op->setOperand(0, aliases.read(builder, root));
  aliases.addView(op.operation(), root);
  return success();
}

/// The first elements of its memory under a new shape. There is nothing to be seen where the memory grows.
LogicalResult Functionalizer::visitResize(const AtenOp &op, Value name) {
  Value root = aliases.rootOf(name), now = aliases.read(builder, root);
  Shape sizes = getShape(op.result());
  auto before = getConstant(product(getShape(now), op->getContext())),
       after = getConstant(product(sizes, op->getContext()));
  auto format = op.attribute("memory_format");
  auto formatName = dyn_cast_or_null<StringAttr>(format);
  bool isPlain =
      !formatName || formatName.getValue().contains("contiguous") || formatName.getValue().contains("preserve");
  if (isa<BlockArgument>(root) || now != aliases.read(builder, name) || !strides.isContiguous(root) || !isPlain ||
      !before || !after || *after > *before)
    return refuseNewSize(op);
  Operation *view = Call("as_strided.default")
                        .set("self", now)
                        .set("size", sizes, op->getContext())
                        .set("stride", contiguousStrides(sizes, op->getContext()), op->getContext())
                        .create(builder, op.loc(), op.result().getType());
  aliases.replaceByView(view, name);
  aliases.bind(op.result(), name);
  replaced.push_back(op.operation());
  return success();
}

/// Decomposition takes every matrix as one that lies in rows. The transposed of this one does, once it is copied, and
/// has the same determinant.
void Functionalizer::visitDeterminant(const AtenOp &op) {
  Value matrix = op->getOperand(0);
  int64_t rank = getShape(matrix).size();
  op->setOperand(0, Call("transpose_copy.int")
                        .set("self", matrix)
                        .set("dim0", builder.getI64IntegerAttr(rank - 2))
                        .set("dim1", builder.getI64IntegerAttr(rank - 1))
                        .create(builder, op.loc(), matrix.getType())
                        ->getResult(0));
}

/// A written argument's last value becomes a result of the function.
void Functionalizer::returnWrites() {
  Operation *terminator = function.front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (BlockArgument argument : function.getArguments()) {
    if (!aliases.isWritten(argument))
      continue;
    unsigned index = argument.getArgNumber();
    StringAttr kind = builder.getStringAttr("ptc.writes_input"), name;
    if (auto input = function.getArgAttrOfType<StringAttr>(index, "ptc.input")) {
      name = input;
    } else {
      // A buffer that the program writes is state, whatever it was exported as.
      name = function.getArgAttrOfType<StringAttr>(index, "ptc.state");
      if (auto weight = function.getArgAttrOfType<StringAttr>(index, "ptc.weight")) {
        function.removeArgAttr(index, "ptc.weight");
        function.setArgAttr(index, "ptc.state", name = weight);
      }
      if (name)
        kind = builder.getStringAttr("ptc.writes_state");
      else
        name = builder.getStringAttr(Twine(index));
    }
    auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(kind, name));
    (void)function.insertResult(function.getNumResults(), argument.getType(), attributes);
    terminator->insertOperands(terminator->getNumOperands(), aliases.read(builder, aliases.rootOf(argument)));
  }
}

/// Whether sizes elsewhere may follow from what the operation computes: it binds one, or has one that its operands
/// lack.
static bool mayDecideSizes(Operation &op) {
  auto hasSize = [](ValueRange values, auto test) {
    return llvm::any_of(values.getTypes(), [&](Type type) {
      return llvm::isa<RankedTensorType>(type) && llvm::any_of(getShape(type), test);
    });
  };
  auto isNew = [&](AffineExpr size) {
    bool isFound = false;
    size.walk([&](AffineExpr part) {
      auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part);
      isFound |= symbol && !hasSize(op.getOperands(), [&](AffineExpr known) {
        return known.isFunctionOfSymbol(symbol.getPosition());
      });
    });
    return isFound;
  };
  return op.hasAttr("ptc.binds") || op.hasAttr("ptc.equals") || hasSize(op.getResults(), isNew);
}

/// Views that only served writes, and what nobody reads.
void Functionalizer::eraseDead() {
  for (Operation *op : llvm::reverse(replaced))
    op->erase();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (op.use_empty() && op.getNumResults() && AtenOp::isKnown(&op) && !mayDecideSizes(op))
      op.erase();
}

LogicalResult Functionalizer::run() {
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (failed(visit(&op)))
      return failure();
  returnWrites();
  eraseDead();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static LogicalResult functionalize(func::FuncOp function) {
  bool hasWork =
      function.walk([](Operation *op) { return needsWork(op) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
  if (!hasWork)
    return success();
  if (!function.getBody().hasOneBlock())
    return function.emitError("writes in a function of several blocks are not supported");
  if (failed(Functionalizer(function).run()))
    return failure();
  WalkResult left = function.walk([](Operation *op) {
    if (!AtenOp::isKnown(op) || !(AtenOp(op).schema().mutates() || updatesStatistics(AtenOp(op))))
      return WalkResult::advance();
    op->emitError() << "cannot compile " << op->getName() << ": it writes to a tensor inside control flow";
    return WalkResult::interrupt();
  });
  return failure(left.wasInterrupted());
}

std::unique_ptr<Pass> createFunctionalizePass() {
  return makeFunctionPass<aten::AtenDialect>("functionalize", "Replace mutation and views by functional operations",
                                             functionalize);
}

} // namespace ptc
