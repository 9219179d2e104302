#include "compiler/graph/FunctionalizeAliases.h"

#include "compiler/graph/FunctionalizeViews.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using ptc::aten::AtenOp;
using ptc::aten::Call;

namespace ptc {

Aliases::Tensor *Aliases::find(Value name) {
  Tensor *&tensor = names[name];
  if (!tensor) {
    Node &root = nodes.emplace_back();
    root.root = &root;
    root.name = name;
    root.current = {name};
    root.versions = {0};
    tensor = &tensors.emplace_back(Tensor{&root, 0});
  }
  return tensor;
}

void Aliases::bind(Value result, Value name) {
  Tensor *tensor = find(name);
  names[result] = tensor;
}

/// The same view of the same tensor: x[1:] taken twice.
static bool isSameView(Operation *a, Operation *b) {
  return a->getName() == b->getName() && a->getAttrDictionary() == b->getAttrDictionary() &&
         a->getResultTypes() == b->getResultTypes() &&
         llvm::equal(a->getOperands().drop_front(), b->getOperands().drop_front());
}

Aliases::Node *Aliases::makeView(Operation *view, Tensor base) {
  for (Node *known : base.node->views)
    if (known->base.result == base.result && isSameView(known->view, view))
      return known;
  Node &node = nodes.emplace_back();
  base.node->views.push_back(&node);
  node.view = view;
  node.base = base;
  node.root = base.node->root;
  node.current = llvm::to_vector_of<Value>(view->getResults());
  node.versions.assign(view->getNumResults(), node.root->version);
  return &node;
}

void Aliases::addView(Operation *view, Value name) {
  Node *node = makeView(view, *find(name));
  for (OpResult result : view->getResults())
    names[result] = &tensors.emplace_back(Tensor{node, result.getResultNumber()});
}

void Aliases::replaceByView(Operation *view, Value name) {
  Tensor *tensor = find(name);
  *tensor = {makeView(view, *tensor), 0};
}

Value Aliases::rootOf(Value name) { return find(name)->node->root->name; }

bool Aliases::isWritten(Value name) { return find(name)->node->root->version > 0; }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Value Aliases::read(OpBuilder &builder, Value name) { return read(builder, *find(name)); }

Value Aliases::read(OpBuilder &builder, Tensor tensor) {
  Node &node = *tensor.node;
  if (!node.view || node.versions[tensor.result] == node.root->version)
    return node.current[tensor.result];
  Value base = read(builder, node.base);
  Operation *again = builder.clone(*node.view);
  again->setOperand(0, base);
  node.current = llvm::to_vector_of<Value>(again->getResults());
  node.versions.assign(again->getNumResults(), node.root->version);
  return node.current[tensor.result];
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Aliases::write(OpBuilder &builder, Location loc, Tensor tensor, Value updated) {
  Node &node = *tensor.node;
  if (!node.view) {
    node.current = {updated};
    ++node.version;
    return;
  }
  unsigned before = node.root->version;
  Value base = read(builder, node.base);
  AtenOp view(node.view);
  write(builder, loc, node.base, invertView(builder, loc, view, tensor.result, base, updated));
  // What is written here is what a replay would show; of a split, the other
  // parts do not see the write.
  for (auto [i, version] : llvm::enumerate(node.versions))
    if (i == tensor.result || (version == before && hasDisjointResults(view)))
      version = node.root->version;
  node.current[tensor.result] = updated;
}

/// Some view between has no inverse (as_strided, unfold, an expand that repeats
/// elements): replay them on the positions 0, 1, … of the root's elements, which
/// tells where each element of the written view lives.
LogicalResult Aliases::writeByPosition(OpBuilder &builder, Location loc, Tensor tensor, Value updated) {
  Value root = tensor.node->root->current[0];
  MLIRContext *context = builder.getContext();
  Type i64 = builder.getI64Type(), element = getElementTypeOrSelf(root.getType());
  SmallVector<Tensor> path;
  for (Tensor t = tensor; t.node->view; t = t.node->base) {
    AtenOp view(t.node->view);
    if (!isGeometric(view))
      return emitError(loc) << "cannot write through aten." << view.name()
                            << " together with a view that shows elements several times (write to a copy instead)";
    if (!isIdentityView(view))
      path.push_back(t);
  }
  auto create = [&](const Call &call, ShapeRef sizes, Type type) {
    return call.create(builder, loc, makeTensorType(sizes, type))->getResult(0);
  };
  auto reshape = [&](Value value, ShapeRef sizes) -> Value {
    if (ShapeRef(getShape(value)) == sizes)
      return value;
    return create(Call("view.default").set("self", value).set("size", sizes, context), sizes,
                  getElementTypeOrSelf(value.getType()));
  };
  Shape sizes = getShape(root);
  AffineExpr count = product(sizes, context), written = product(getShape(updated), context);
  Value positions = reshape(create(Call("arange.default").set("end", count), {count}, i64), sizes);
  for (Tensor t : llvm::reverse(path)) {
    Operation *again = builder.clone(*t.node->view);
    again->setOperand(0, positions);
    for (Value result : again->getResults())
      if (isa<RankedTensorType>(result.getType())) // Unused parts may be `none`.
        result.setType(makeTensorType(getShape(result), i64));
    positions = again->getResult(t.result);
  }
  Value all = create(Call("index_put.default")
                         .set("self", reshape(root, {count}))
                         .set("indices", ArrayRef<Value>{reshape(positions, {written})})
                         .set("values", reshape(updated, {written})),
                     {count}, element);
  write(builder, loc, {tensor.node->root, 0}, reshape(all, sizes));
  tensor.node->current[tensor.result] = updated;
  tensor.node->versions[tensor.result] = tensor.node->root->version;
  return success();
}

LogicalResult Aliases::write(OpBuilder &builder, Location loc, Value name, Value updated) {
  Tensor tensor = *find(name);
  // x[1:] += y is exported as an addition in place and a copy of x[1:] to itself.
  bool isCurrent = !tensor.node->view || tensor.node->versions[tensor.result] == tensor.node->root->version;
  if (isCurrent && tensor.node->current[tensor.result] == updated)
    return success();
  for (Tensor t = tensor; t.node->view; t = t.node->base)
    if (!hasInverse(AtenOp(t.node->view)))
      return writeByPosition(builder, loc, tensor, updated);
  write(builder, loc, tensor, updated);
  return success();
}

} // namespace ptc
