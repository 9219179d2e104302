#include "compiler/graph/FunctionalizeStrides.h"

#include "compiler/graph/FunctionalizeOrder.h"

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

bool isContiguous(ShapeRef sizes, ShapeRef strides) {
  if (sizes.empty())
    return true;
  Shape dense = contiguousStrides(sizes, sizes.front().getContext());
  return llvm::all_of(llvm::seq<size_t>(0, sizes.size()),
                      [&](size_t d) { return isOne(sizes[d]) || isEqual(strides[d], dense[d]); });
}

bool Strides::isContiguous(Value value) const {
  auto found = known.find(value);
  return found == known.end() || ptc::isContiguous(getShape(value), found->second);
}

bool Strides::isChannelsLast(Value value) const {
  static constexpr int kOrders[2][5] = {{1, 3, 2, 0}, {1, 4, 3, 2, 0}};
  Shape sizes = getShape(value), strides = of(value);
  size_t rank = sizes.size();
  if (rank != 4 && rank != 5)
    return false;
  int64_t least = 0, channels = evaluate(strides[1], usual);
  if (channels == 0)
    return false;
  for (int d : ArrayRef(kOrders[rank - 4], rank)) {
    int64_t size = evaluate(sizes[d], usual), stride = evaluate(strides[d], usual);
    if (size == 0 || stride < least || (d == 0 && least == channels))
      return false;
    least = stride * std::max<int64_t>(size, 1);
  }
  return true;
}

llvm::SmallVector<int64_t> usualSizes(ArrayRef<Symbol> symbols) {
  llvm::SmallVector<int64_t> values;
  for (auto [i, symbol] : llvm::enumerate(symbols)) {
    int64_t most = symbol.max == Symbol::kUnbounded ? std::numeric_limits<int64_t>::max() : symbol.max;
    values.push_back(std::clamp<int64_t>(101 + 10 * int64_t(i), std::min(symbol.min, most), most));
  }
  evaluateExtrema(symbols, values);
  return values;
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
  bool isDense = name == "view" || name == "reshape" || name == "flatten" || name == "unflatten" || name == "squeeze" ||
                 name == "unsqueeze" || name == "reshape_as" || name == "view_as";
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
SmallVector<int64_t> Strides::broadcast(Value operand, ShapeRef resultSizes) const {
  SmallVector<int64_t> wide(resultSizes.size(), 0);
  Shape sizes = getShape(operand), strides = of(operand);
  size_t added = resultSizes.size() - std::min(sizes.size(), resultSizes.size());
  for (size_t d = 0; d < std::min(sizes.size(), resultSizes.size()); ++d)
    wide[d + added] = isOne(sizes[d]) && !isOne(resultSizes[d + added]) ? 0 : evaluate(strides[d], usual);
  return wide;
}

/// Whether dimension `a` is further out than `b`; 0 when no operand can tell.
/// The rule is TensorIterator's.
static int compareDims(ArrayRef<SmallVector<int64_t>> operands, ArrayRef<int64_t> sizes, size_t a, size_t b) {
  for (ArrayRef<int64_t> strides : operands) {
    if (strides[a] == 0 || strides[b] == 0)
      continue;
    if (strides[a] != strides[b])
      return strides[a] < strides[b] ? -1 : 1;
    if (sizes[a] > sizes[b])
      return 1;
  }
  return 0;
}

/// A pointwise result is dense, in the order of its operands' memory.
Shape Strides::ofPointwise(ValueRange from, ShapeRef sizes) const {
  MLIRContext *context = from.front().getContext();
  SmallVector<SmallVector<int64_t>> operands;
  for (Value operand : from)
    operands.push_back(broadcast(operand, sizes));
  auto values = llvm::map_to_vector(sizes, [&](AffineExpr size) { return evaluate(size, usual); });
  SmallVector<size_t> order; // From innermost to outermost.
  for (size_t d = sizes.size(); d-- > 0;) {
    order.push_back(d);
    size_t at = order.size() - 1;
    for (size_t other = at; other-- > 0;) {
      int comparison = compareDims(operands, values, order[other], order[at]);
      if (comparison < 0)
        break;
      if (comparison > 0)
        std::swap(order[other], order[std::exchange(at, other)]);
    }
  }
  Shape dense(sizes);
  AffineExpr next = getAffineConstantExpr(1, context);
  for (size_t d : order) {
    dense[d] = next;
    next = next * sizes[d];
  }
  return dense;
}

static Shape channelsLast(ShapeRef sizes) {
  Shape ordered(sizes);
  std::rotate(ordered.begin() + 1, ordered.begin() + 2, ordered.end());
  Shape strides = contiguousStrides(ordered, sizes.front().getContext());
  std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
  return strides;
}

/// Channels innermost: where a memory format asks for it, whatever the operands' order is.
static std::optional<Shape> channelsLastStrides(const aten::AtenOp &op, Value result) {
  bool isAsked = op.hasArgument("memory_format") && op.string("memory_format").contains("channels_last");
  Shape sizes = getShape(result);
  return isAsked && sizes.size() >= 3 ? std::optional(channelsLast(sizes)) : std::nullopt;
}

/// A flipped copy, whose dimensions are exchanged in place for a quarter of a turn.
Shape Strides::ofRotation(const aten::AtenOp &op) const {
  Value self = op->getOperand(0);
  Shape sizes = getShape(self);
  int64_t turns = llvm::mod(op.integer("k"), 4), rank = sizes.size();
  Shape strides = turns == 0 ? contiguousStrides(sizes, op->getContext()) : ofPointwise(self, sizes);
  if (SmallVector<int64_t> dims = op.integers("dims"); turns % 2 == 1)
    std::swap(strides[wrap(dims[0], rank)], strides[wrap(dims[1], rank)]);
  return strides;
}

void Strides::visit(Operation *op, bool isView) {
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
    bool isOfFirst = isView || (call.schema().mutates() && isSameAsFirst);
    if (isOfFirst && !isKnown(op->getOperand(0))) {
      unknown.insert(result);
      continue;
    }
    if (isOfFirst) {
      remember(result, isView ? ofView(call, result.getResultNumber()) : of(op->getOperand(0)));
      continue;
    }
    bool areKnown = llvm::all_of(op->getOperands(), [&](Value operand) { return isKnown(operand); });
    bool areRows = llvm::all_of(op->getOperands(), [&](Value operand) { return isContiguous(operand); });
    if (call.schema().baseName() == "rot90" && areKnown) {
      remember(result, ofRotation(call));
      continue;
    }
    if (areKnown && areRows && !hasOwnOrder(call))
      continue;
    Order order = orderOf(call);
    if (!areKnown && order != Order::Rows && order != Order::Columns) {
      unknown.insert(result);
      continue;
    }
    switch (order) {
    case Order::Unknown:
      unknown.insert(result);
      break;
    case Order::Rows:
      break;
    case Order::Format: {
      Shape sizes = getShape(result);
      auto areLast = [&](Value operand) { return isChannelsLast(operand); };
      bool isList = call.schema().arguments[0].isList;
      if (!(isList ? llvm::all_of(op->getOperands(), areLast) : areLast(op->getOperand(0))))
        break;
      if (sizes.size() == getShape(op->getOperand(0)).size())
        remember(result, channelsLast(sizes));
      else
        unknown.insert(result); // stack
      break;
    }
    case Order::Columns: {
      Shape sizes = getShape(result);
      if (sizes.size() < 2)
        break;
      std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
      Shape strides = contiguousStrides(sizes, op->getContext());
      std::swap(strides[sizes.size() - 1], strides[sizes.size() - 2]);
      remember(result, strides);
      break;
    }
    case Order::Operands:
      remember(result, ofPointwise(op->getOperands(), getShape(result)));
      break;
    case Order::First:
      remember(result, ofPointwise(op->getOperand(0), getShape(result)));
      break;
    }
  }
}

} // namespace ptc
