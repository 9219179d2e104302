//===- SinkTransposes.cpp - transposes move behind their users ------------===//
//
// Notation: v = transpose(a, p), so that dimension i of v is dimension p[i] of
// a. An operation on v becomes one on a, with its dimensions mapped by p, and
// a transpose of its result.
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/ChooseLayout.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

using Permutation = SmallVector<int64_t>;

static Permutation inverse(ArrayRef<int64_t> p) {
  Permutation result(p.size());
  for (auto [i, from] : llvm::enumerate(p))
    result[from] = i;
  return result;
}

static bool isIdentity(ArrayRef<int64_t> p) {
  for (auto [i, from] : llvm::enumerate(p))
    if (int64_t(i) != from)
      return false;
  return true;
}

/// list[p[i]] at i.
template <typename List> static auto permuted(const List &list, ArrayRef<int64_t> p) {
  SmallVector<std::decay_t<decltype(list[0])>> result;
  for (int64_t from : p)
    result.push_back(list[from]);
  return result;
}

static Value transpose(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> p) {
  return isIdentity(p) ? value : Value(TransposeOp::create(b, loc, value, p));
}

namespace {
/// Rewrites one operation whose operand `v` is transpose(a, p).
struct Sink {
  OpBuilder &b;
  Operation *op;
  Value a;
  Permutation p;

  bool run();

private:
  /// An operation like `like`, but for operands and result types.
  Value clone(Operation *like, ValueRange operands, ShapeRef shape);
  /// Another operand as `a` lies; null where that would cost a copy. `depth`: how many operations back to look.
  Value align(Value value, unsigned depth = 8);
  /// The transpose of a value as `a` lies that there is already: a convolution before this operation reads it.
  Value findTransposed(Value value);
  /// Whether something that reads the value, or a result of it point by point, transposes it to lie as `a` does.
  bool isWanted(Value value, unsigned depth = 8);
  bool finish(Value result, ArrayRef<int64_t> permutation) {
    op->getResult(0).replaceAllUsesWith(transpose(b, op->getLoc(), result, permutation));
    return true;
  }
  /// Values given by dimension of v, by dimension of a.
  template <typename List> auto byDimension(const List &list) { return permuted(list, inverse(p)); }
  Permutation mapDims(ArrayRef<int64_t> dims) { return permuted(p, dims); }
  Attribute sizesAttr(Attribute sizes) {
    return makeSizesAttr(byDimension(*getSizesFromAttr(sizes)), op->getContext());
  }
  /// What is left of p without dimensions `dims` of v.
  Permutation withoutDims(ArrayRef<int64_t> dims);

  bool sinkElementwise();
  bool sink(TransposeOp op);
  bool sink(ReduceOp op);
  bool sink(ArgReduceOp op);
  bool sink(ReduceWindowOp op);
  bool sink(PadOp op);
  bool sink(SliceOp op);
  bool sink(ReverseOp op);
  bool sink(ConcatenateOp op);
  bool sink(BroadcastInDimOp op);
  bool sink(ReshapeOp op);
  bool sink(GatherOp op);
};
} // namespace

bool Sink::run() {
  if (isElementwise(op))
    return sinkElementwise();
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<TransposeOp, ReduceOp, ArgReduceOp, ReduceWindowOp, PadOp, SliceOp, ReverseOp, ConcatenateOp,
            BroadcastInDimOp, ReshapeOp, GatherOp>([&](auto concrete) { return sink(concrete); })
      .Default(false);
}

Value Sink::clone(Operation *like, ValueRange operands, ShapeRef shape) {
  OperationState state(like->getLoc(), like->getName());
  state.addOperands(operands);
  state.addAttributes(like->getAttrs());
  state.propertiesAttr = like->getPropertiesAsAttribute();
  Type element = llvm::cast<RankedTensorType>(like->getResult(0).getType()).getElementType();
  state.addTypes(makeTensorType(shape, element));
  return b.create(state)->getResult(0);
}

/// Whether transpose(x, p) has the elements of x in their order.
static bool keepsOrder(ArrayRef<int64_t> p, ShapeRef sizes) {
  int64_t last = -1;
  for (int64_t dim : p) {
    if (getConstant(sizes[dim]) == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

/// Whether a tensor is known when compiling: its transpose is folded.
static bool isKnown(Value value) {
  if (auto argument = llvm::dyn_cast<BlockArgument>(value)) {
    auto function = llvm::dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    return function && function.getArgAttr(argument.getArgNumber(), "ptc.weight");
  }
  return llvm::isa<ConstantOp>(value.getDefiningOp());
}

Value Sink::findTransposed(Value value) {
  for (Operation *user : value.getUsers()) {
    auto other = llvm::dyn_cast<TransposeOp>(user);
    bool isBefore = other && other->getBlock() == op->getBlock() && other->isBeforeInBlock(op);
    if (isBefore && other.getPermutation() == ArrayRef<int64_t>(inverse(p)))
      return other;
  }
  return {};
}

bool Sink::isWanted(Value value, unsigned depth) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (auto other = llvm::dyn_cast<TransposeOp>(user))
      return other.getPermutation() == ArrayRef<int64_t>(inverse(p));
    return depth > 0 && isElementwise(user) && isWanted(user->getResult(0), depth - 1);
  });
}

Value Sink::align(Value value, unsigned depth) {
  Permutation toA = inverse(p);
  if (auto other = value.getDefiningOp<TransposeOp>()) {
    if (other.getPermutation() == ArrayRef<int64_t>(p))
      return other.getX();
    // Where only dimensions of one element move, no element does.
    Permutation from = permuted(other.getPermutation(), toA);
    if (keepsOrder(from, getShape(other.getX())))
      return ReshapeOp::create(b, op->getLoc(), other.getX(),
                               makeSizesAttr(byDimension(getShape(value)), op->getContext()));
  }
  if (auto full = value.getDefiningOp<FullOp>())
    return FullOp::create(b, op->getLoc(), full.getValue(), sizesAttr(full.getSizes()));
  if (auto broadcast = value.getDefiningOp<BroadcastInDimOp>()) {
    // The small operand is transposed in place of the large result.
    SmallVector<std::pair<int64_t, int64_t>> places; // dimension of a, of x
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      places.push_back({p[dim], i});
    llvm::sort(places);
    Permutation dims, order;
    for (auto [dim, from] : places) {
      dims.push_back(dim);
      order.push_back(from);
    }
    Value x = transpose(b, op->getLoc(), broadcast.getX(), order);
    return BroadcastInDimOp::create(b, op->getLoc(), x, sizesAttr(broadcast.getSizes()), dims);
  }
  if (isKnown(value))
    return transpose(b, op->getLoc(), value, toA);
  if (Value transposed = findTransposed(value))
    return transposed;
  // What only this operation reads may be computed as `a` lies, from operands that can.
  Operation *source = value.getDefiningOp();
  if (!source || depth == 0 || !isElementwise(source) || !source->hasOneUse())
    return {};
  SmallVector<Value> operands;
  for (Value operand : source->getOperands()) {
    operands.push_back(align(operand, depth - 1));
    if (!operands.back())
      return {};
  }
  return clone(source, operands, byDimension(getShape(value)));
}

bool Sink::sinkElementwise() {
  SmallVector<Value> operands;
  for (Value value : op->getOperands()) {
    operands.push_back(value.getDefiningOp<TransposeOp>() || op->getNumOperands() > 1 ? align(value) : Value());
    // One transpose before in place of one behind.
    if (!operands.back() && isWanted(op->getResult(0)))
      operands.back() = transpose(b, op->getLoc(), value, inverse(p));
    if (!operands.back())
      return false;
  }
  return finish(clone(op, operands, getShape(a)), p);
}

bool Sink::sink(TransposeOp op) { return finish(a, permuted(p, op.getPermutation())); }

Permutation Sink::withoutDims(ArrayRef<int64_t> dims) {
  Permutation gone = mapDims(dims), result;
  for (auto [i, from] : llvm::enumerate(p))
    if (!llvm::is_contained(dims, int64_t(i)))
      result.push_back(from - llvm::count_if(gone, [&, from = from](int64_t dim) { return dim < from; }));
  return result;
}

bool Sink::sink(ReduceOp op) {
  Permutation dims = mapDims(op.getDims());
  llvm::sort(dims);
  return finish(ReduceOp::create(b, op.getLoc(), a, op.getKind(), dims), withoutDims(op.getDims()));
}

bool Sink::sink(ArgReduceOp op) {
  int64_t dim = op.getDim();
  return finish(ArgReduceOp::create(b, op.getLoc(), a, op.getKind(), p[dim]), withoutDims(dim));
}

bool Sink::sink(ReduceWindowOp op) {
  return finish(ReduceWindowOp::create(b, op.getLoc(), a, op.getKind(), sizesAttr(op.getWindow()),
                                       byDimension(op.getStrides()), byDimension(op.getDilations()),
                                       byDimension(op.getLow()), byDimension(op.getHigh())),
                p);
}

bool Sink::sink(PadOp op) {
  if (op.getX() != op->getOperand(0) || !op.getX().getDefiningOp<TransposeOp>())
    return false;
  return finish(PadOp::create(b, op.getLoc(), a, op.getValue(), sizesAttr(op.getLow()), sizesAttr(op.getHigh()),
                              byDimension(op.getInterior())),
                p);
}

bool Sink::sink(SliceOp op) {
  return finish(SliceOp::create(b, op.getLoc(), a, sizesAttr(op.getStarts()), sizesAttr(op.getLimits()),
                                byDimension(op.getStrides())),
                p);
}

bool Sink::sink(ReverseOp op) {
  Permutation dims = mapDims(op.getDims());
  llvm::sort(dims);
  return finish(ReverseOp::create(b, op.getLoc(), a, dims), p);
}

bool Sink::sink(ConcatenateOp op) {
  SmallVector<Value> inputs;
  for (Value value : op.getInputs()) {
    inputs.push_back(align(value));
    if (!inputs.back())
      return false;
  }
  return finish(ConcatenateOp::create(b, op.getLoc(), inputs, p[op.getDim()]), p);
}

/// Stretched from a: its dimensions keep their order in the result, and the
/// result is transposed back.
bool Sink::sink(BroadcastInDimOp op) {
  Permutation dims(op.getDims()), order; // result dimension of the new op -> of the old one
  Permutation oldDims = permuted(dims, inverse(p)); // of each dimension of a
  // Result dimensions that come from x take, in order, those of a.
  Permutation slots = dims;
  llvm::sort(slots);
  Shape sizes = *getSizesFromAttr(op.getSizes());
  order.resize(sizes.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  for (auto [slot, old] : llvm::zip_equal(slots, oldDims))
    order[slot] = old;
  Attribute newSizes = makeSizesAttr(permuted(sizes, order), op.getContext());
  return finish(BroadcastInDimOp::create(b, op.getLoc(), a, newSizes, slots), inverse(order));
}

/// A reshape that splits or merges runs of dimensions works on a, run by run.
/// The dimensions of a run must be neighbours: where they are not in a (groups
/// of channels that are shuffled), what makes them so stays before the reshape,
/// and only the order of the runs moves behind it.
bool Sink::sink(ReshapeOp op) {
  MLIRContext *context = op.getContext();
  Shape from = getShape(op.getX()), to = getShape(op.getResult());
  struct Run {
    unsigned fromBegin, fromEnd, toBegin, toEnd;
  };
  SmallVector<Run> runs;
  for (unsigned i = 0, j = 0; i < from.size() || j < to.size();) {
    Run run{i, i, j, j};
    AffineExpr left = getAffineConstantExpr(1, context), right = left;
    do { // the shorter side takes the next dimension, until both are equal
      auto l = getConstant(left), r = getConstant(right);
      bool takeLeft = run.fromEnd < from.size() && (run.toEnd == to.size() || run.fromEnd == run.fromBegin ||
                                                    (l && r ? *l < *r : run.toEnd > run.toBegin));
      if (takeLeft)
        left = left * from[run.fromEnd++];
      else if (run.toEnd < to.size())
        right = right * to[run.toEnd++];
      else
        return false;
    } while (!isEqual(left, right));
    // Trailing ones go with their run.
    while (run.fromEnd < from.size() && run.toEnd == to.size() && getConstant(from[run.fromEnd]) == 1)
      ++run.fromEnd;
    while (run.toEnd < to.size() && run.fromEnd == from.size() && getConstant(to[run.toEnd]) == 1)
      ++run.toEnd;
    i = run.fromEnd;
    j = run.toEnd;
    runs.push_back(run);
  }
  // The runs in the order that a has them.
  SmallVector<unsigned> order(runs.size());
  for (unsigned i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](unsigned x, unsigned y) { return p[runs[x].fromBegin] < p[runs[y].fromBegin]; });
  Shape sizes;
  Permutation before; // of each dimension that the new reshape takes, in a
  Permutation places(to.size()); // of each result dimension in the new result
  for (unsigned index : order) {
    const Run &run = runs[index];
    before.append(p.begin() + run.fromBegin, p.begin() + run.fromEnd);
    for (unsigned j = run.toBegin; j < run.toEnd; ++j) {
      places[j] = sizes.size();
      sizes.push_back(to[j]);
    }
  }
  if (before == p)
    return false;
  Value x = transpose(b, op.getLoc(), a, before);
  return finish(ReshapeOp::create(b, op.getLoc(), x, makeSizesAttr(sizes, context)), places);
}

/// Indices come first in the result, the other dimensions in order after them.
bool Sink::sink(GatherOp op) {
  if (!op.getX().getDefiningOp<TransposeOp>() || op->getOperand(0) != op.getX())
    return false;
  SmallVector<std::pair<int64_t, Value>> indices;
  for (auto [dim, index] : llvm::zip_equal(op.getDims(), op.getIndices()))
    indices.push_back({p[dim], index});
  llvm::sort(indices, [](auto &x, auto &y) { return x.first < y.first; });
  Permutation dims;
  SmallVector<Value> values;
  for (auto &[dim, value] : indices) {
    dims.push_back(dim);
    values.push_back(value);
  }
  int64_t indexRank = values.empty() ? 0 : getShape(values[0]).size();
  Permutation result;
  for (int64_t i = 0; i < indexRank; ++i)
    result.push_back(i);
  for (int64_t rest : withoutDims(op.getDims()))
    result.push_back(indexRank + rest);
  return finish(GatherOp::create(b, op.getLoc(), a, values, dims), result);
}

bool sinkTransposes(OpBuilder &b, Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (auto transposed = operand.getDefiningOp<TransposeOp>()) {
      // Of a weight it is folded where it stands.
      if (isKnown(transposed.getX()))
        continue;
      Sink sink{b, op, transposed.getX(), Permutation(transposed.getPermutation())};
      return sink.run();
    }
  return false;
}

} // namespace ptc
