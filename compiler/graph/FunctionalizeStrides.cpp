#include "compiler/graph/FunctionalizeStrides.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace ptc {

Shape contiguousStrides(ShapeRef sizes, MLIRContext *context) {
  Shape strides(sizes.size(), getAffineConstantExpr(1, context));
  for (int d = int(sizes.size()) - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * sizes[d + 1];
  return strides;
}

static bool isOne(AffineExpr size) { return getConstant(size) == 1; }

std::optional<Shape> viewStrides(ShapeRef sizes, ShapeRef strides, ShapeRef viewSizes, MLIRContext *context) {
  // Walks both shapes from the right, in chunks that are dense in memory; each
  // chunk must split into whole sizes of the view.
  AffineExpr one = getAffineConstantExpr(1, context);
  Shape result(viewSizes.size(), one);
  if (sizes.empty())
    return result;
  int v = int(viewSizes.size()) - 1;
  AffineExpr stride = strides.back(), chunk = one, taken = one;
  for (int d = int(sizes.size()) - 1; d >= 0; --d) {
    chunk = chunk * sizes[d];
    if (d > 0 && (isOne(sizes[d - 1]) || isEqual(strides[d - 1], chunk * stride)))
      continue;
    while (v >= 0 && (!isEqual(taken, chunk) || isOne(viewSizes[v]))) {
      result[v] = taken * stride;
      taken = taken * viewSizes[v--];
    }
    if (!isEqual(taken, chunk))
      return std::nullopt;
    if (d > 0)
      stride = strides[d - 1];
    chunk = taken = one;
  }
  return v < 0 ? std::optional(result) : std::nullopt;
}

Shape Strides::of(Value value) const {
  auto found = known.find(value);
  return found != known.end() ? found->second : contiguousStrides(getShape(value), value.getContext());
}

bool Strides::isContiguous(Value value) const {
  auto found = known.find(value);
  if (found == known.end())
    return true;
  Shape sizes = getShape(value), dense = contiguousStrides(sizes, value.getContext());
  return llvm::all_of(llvm::seq<size_t>(0, sizes.size()), [&](size_t d) {
    return isOne(sizes[d]) || isEqual(found->second[d], dense[d]);
  });
}

//===----------------------------------------------------------------------===//
// Through operations
//===----------------------------------------------------------------------===//

static int64_t wrap(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

static Shape moved(ShapeRef strides, const aten::AtenOp &op) {
  auto list = [&](StringRef name) {
    return op.optionalInts(name).value_or(SmallVector<int64_t>{op.optionalInt(name).value_or(0)});
  };
  Shape result(strides.size());
  SmallVector<bool> taken(strides.size());
  for (auto [from, to] : llvm::zip(list("source"), list("destination"))) {
    result[wrap(to, strides.size())] = strides[wrap(from, strides.size())];
    taken[wrap(from, strides.size())] = true;
  }
  size_t next = 0;
  for (AffineExpr &stride : result) {
    if (stride)
      continue;
    while (taken[next])
      ++next;
    stride = strides[next++];
  }
  return result;
}

Shape Strides::ofView(const aten::AtenOp &op, unsigned result) const {
  Value source = op->getOperand(0);
  Shape strides = of(source), sizes = getShape(source), viewSizes = getShape(op.result(result));
  int64_t rank = strides.size();
  auto dim = [&](StringRef name) { return wrap(op.integer(name), rank); };
  StringRef name = op.schema().baseName();
  name.consume_back("_"); // t_ has the strides of t.
  bool isDense = name == "view" || name == "reshape" || name == "flatten" || name == "unflatten" ||
                 name == "squeeze" || name == "unsqueeze" || name == "reshape_as" || name == "view_as";
  bool isExpand = name == "expand" || name == "expand_as" || name == "broadcast_to";
  if (isDense || (rank == 0 && !isExpand)) {
    auto view = viewStrides(sizes, strides, viewSizes, source.getContext());
    return view ? *view : contiguousStrides(viewSizes, source.getContext());
  }
  if (name == "select" || name == "unbind") {
    strides.erase(strides.begin() + dim("dim"));
  } else if (name == "slice") {
    strides[dim("dim")] = strides[dim("dim")] * op.symInt("step");
  } else if (name == "unfold") {
    strides.push_back(strides[dim("dimension")]);
    strides[dim("dimension")] = strides[rank] * op.symInt("step");
  } else if (name == "transpose" || name == "swapdims") {
    std::swap(strides[dim("dim0")], strides[dim("dim1")]);
  } else if (name == "swapaxes") {
    std::swap(strides[dim("axis0")], strides[dim("axis1")]);
  } else if (name == "movedim" || name == "moveaxis") {
    strides = moved(strides, op);
  } else if (name == "t" || name == "numpy_T") {
    std::reverse(strides.begin(), strides.end());
  } else if (name == "mT" || name == "mH" || name == "adjoint" || name == "matrix_H") {
    std::swap(strides[rank - 1], strides[rank - 2]);
  } else if (name == "permute") {
    SmallVector<int64_t> dims = op.integers("dims");
    Shape from = strides;
    for (auto [to, d] : llvm::zip(strides, dims))
      to = from[wrap(d, rank)];
  } else if (isExpand) {
    size_t added = viewSizes.size() - sizes.size();
    Shape wide(viewSizes.size(), getAffineConstantExpr(0, source.getContext()));
    for (size_t d = 0; d < sizes.size(); ++d)
      if (isEqual(sizes[d], viewSizes[d + added]))
        wide[d + added] = strides[d];
    strides = wide;
  } else if (name == "diagonal" || name == "linalg_diagonal") {
    int64_t a = dim("dim1"), b = dim("dim2");
    AffineExpr both = strides[a] + strides[b];
    strides.erase(strides.begin() + std::max(a, b));
    strides.erase(strides.begin() + std::min(a, b));
    strides.push_back(both);
  } else if (name == "as_strided") {
    strides = op.symInts("stride");
  }
  // Others keep the strides (split, narrow, detach, alias, …) or are rare.
  return strides.size() == viewSizes.size() ? strides : contiguousStrides(viewSizes, source.getContext());
}

/// An operand's strides over the sizes of the result: 0 where it is broadcast.
static std::optional<SmallVector<int64_t>> broadcastStrides(ShapeRef sizes, ShapeRef strides, ShapeRef resultSizes) {
  SmallVector<int64_t> wide(resultSizes.size(), 0);
  if (sizes.size() > resultSizes.size())
    return std::nullopt;
  size_t added = resultSizes.size() - sizes.size();
  for (size_t d = 0; d < sizes.size(); ++d) {
    auto stride = getConstant(strides[d]);
    if (!stride)
      return std::nullopt;
    wide[d + added] = isOne(sizes[d]) && !isOne(resultSizes[d + added]) ? 0 : *stride;
  }
  return wide;
}

/// Whether dimension `a` is further out than `b`; 0 when no operand can tell.
/// The rule is TensorIterator's.
static int compareDims(ArrayRef<SmallVector<int64_t>> operands, ShapeRef sizes, size_t a, size_t b) {
  for (ArrayRef<int64_t> strides : operands) {
    if (strides[a] == 0 || strides[b] == 0)
      continue;
    if (strides[a] != strides[b])
      return strides[a] < strides[b] ? -1 : 1;
    if (getConstant(sizes[a]).value_or(0) > getConstant(sizes[b]).value_or(0))
      return 1;
  }
  return 0;
}

/// A pointwise result is dense, in the order of its operands' memory. Symbolic
/// strides count as contiguous.
Shape Strides::ofPointwise(Operation *op) const {
  Shape sizes = getShape(op->getResult(0));
  SmallVector<SmallVector<int64_t>> operands;
  for (Value operand : op->getOperands()) {
    auto strides = broadcastStrides(getShape(operand), of(operand), sizes);
    if (!strides)
      return contiguousStrides(sizes, op->getContext());
    operands.push_back(*strides);
  }
  SmallVector<size_t> order; // From innermost to outermost.
  for (size_t d = sizes.size(); d-- > 0;) {
    order.push_back(d);
    size_t at = order.size() - 1;
    for (size_t other = at; other-- > 0;) {
      int comparison = compareDims(operands, sizes, order[other], order[at]);
      if (comparison < 0)
        break;
      if (comparison > 0)
        std::swap(order[other], order[std::exchange(at, other)]);
    }
  }
  Shape dense = sizes;
  AffineExpr next = getAffineConstantExpr(1, op->getContext());
  for (size_t d : order) {
    dense[d] = next;
    next = next * sizes[d];
  }
  return dense;
}

/// Channels innermost: where a memory format asks for it, whatever the operands' order is.
static std::optional<Shape> channelsLastStrides(const aten::AtenOp &op, Value result) {
  bool isAsked = op.hasArgument("memory_format") && op.string("memory_format").contains("channels_last");
  Shape sizes = getShape(result);
  if (!isAsked || sizes.size() < 3)
    return std::nullopt;
  Shape ordered = sizes;
  std::rotate(ordered.begin() + 1, ordered.begin() + 2, ordered.end());
  Shape strides = contiguousStrides(ordered, op->getContext());
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

void Strides::visit(Operation *op) {
  if (!aten::AtenOp::isKnown(op) || op->getNumOperands() == 0)
    return;
  aten::AtenOp call(op);
  auto remember = [&](Value value, Shape strides) {
    if (strides != contiguousStrides(getShape(value), op->getContext()))
      known[value] = std::move(strides);
  };
  for (OpResult result : op->getResults()) {
    if (!isa<RankedTensorType>(result.getType()))
      continue;
    bool isSameAsFirst = result.getType() == op->getOperand(0).getType();
    if (auto strides = channelsLastStrides(call, result)) {
      remember(result, *strides);
      continue;
    }
    bool isView = call.schema().isView() || call.schema().has(aten::Mark::InplaceView);
    if (!isView && call.schema().mutates() && isSameAsFirst)
      remember(result, of(op->getOperand(0)));
    else if (isView && call.name() != "contiguous.default")
      remember(result, ofView(call, result.getResultNumber()));
    else if (call.schema().has(aten::Mark::Pointwise) || call.schema().baseName() == "clone" ||
             call.schema().baseName() == "dropout")
      remember(result, ofPointwise(op));
  }
}

} // namespace ptc
