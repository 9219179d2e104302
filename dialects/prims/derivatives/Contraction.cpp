//===- Contraction.cpp - derivatives of products and convolutions ---------===//

#include "dialects/prims/Compute.h"

#include "dialects/prims/Cotangents.h"

using namespace mlir;
using llvm::Error;

namespace ptc::prims {

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

namespace {
/// One operand of a contraction by the places of its dimensions.
struct Side {
  DimsRef batch, contracted;
  int64_t rank;

  /// Of the dimensions that are in the result alone from this side.
  Dims free() const {
    Dims named(batch);
    named.append(contracted.begin(), contracted.end());
    return otherDims(rank, named);
  }
};
} // namespace

/// The cotangent of one operand from that of the result: its product with the other operand along the other's free
/// dimensions, which begin at `otherFirst` in the result.
static Term ofFactor(Term g, Term other, Side own, Side theirs, int64_t otherFirst) {
  Dims otherFree = theirs.free(), along, batch = allDims(own.batch.size());
  for (size_t i = 0; i < otherFree.size(); ++i)
    along.push_back(otherFirst + i);
  // Half types are multiplied as they are; the sums are f32.
  Term product = contract(convert(g, other.element()), conj(other), batch, theirs.batch, along, otherFree);
  // Batch, own free dimensions, and the other's contracted ones in its own order.
  Dims places(own.rank);
  for (auto [i, dim] : llvm::enumerate(own.batch))
    places[dim] = i;
  for (auto [i, dim] : llvm::enumerate(own.free()))
    places[dim] = own.batch.size() + i;
  Dims ascending(theirs.contracted);
  llvm::sort(ascending);
  for (auto [dim, paired] : llvm::zip(own.contracted, theirs.contracted))
    places[dim] = own.rank - ascending.size() + (llvm::find(ascending, paired) - ascending.begin());
  return convert(transpose(product, places), other.element());
}

Error ContractOp::differentiate(Cotangents &c) {
  Term lhs = c.operand(0), rhs = c.operand(1), g = c.grad();
  Side left{getLhsBatch(), getLhsContract(), lhs.rank()}, right{getRhsBatch(), getRhsContract(), rhs.rank()};
  int64_t first = getLhsBatch().size(), second = first + left.free().size();
  c.add(0, ofFactor(g, rhs, left, right, second));
  c.add(1, ofFactor(g, lhs, right, left, first));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

namespace {
/// The derivatives of a convolution with channels first: convolutions themselves.
///
/// With X the input with zeros between its elements for its dilation, along a spatial dimension
///   y[o] = sum over k of w[k] X[o stride + k dilation - low].
class ConvolutionRule {
public:
  ConvolutionRule(ConvolutionOp op, Term x, Term w, Term g);

  Term ofInput();
  Term ofWeight() { return isTransposed() ? ofTransposedWeight() : ofPlainWeight(); }

private:
  /// Whether the input has zeros between its elements, and no tap is left out for strides.
  bool isTransposed();
  Term ofPlainWeight();
  Term ofTransposedWeight();
  Term regroup(Term v, int64_t dim, DimsRef order, bool joinsFirst);
  Term convolve(Term x, Term w, DimsRef strides, ShapeRef low, ShapeRef high, DimsRef dilations,
                DimsRef inputDilations);

  ConvolutionOp op;
  Term x, w, g;
  size_t spatial;
  Shape size, kernel; ///< of x and w, along the spatial dimensions
  Shape reach, span;  ///< from the first to the last tap; over the places of the first taps
  Shape low;
};
} // namespace

static Shape spatialSizes(Term x) { return Shape(ArrayRef(x.shape()).drop_front(2)); }

ConvolutionRule::ConvolutionRule(ConvolutionOp op, Term x, Term w, Term g)
    : op(op), x(x), w(w), g(g), spatial(x.rank() - 2), size(spatialSizes(x)), kernel(spatialSizes(w)) {
  Shape out = spatialSizes(g);
  for (size_t i = 0; i < spatial; ++i) {
    reach.push_back((kernel[i] - 1) * op.getDilations()[i]);
    span.push_back((out[i] - 1) * op.getStrides()[i] + 1);
    low.push_back(x.size(op.getLow()[i]));
  }
}

/// `dim` split into groups, the first three dimensions in another `order`, and two of them joined.
Term ConvolutionRule::regroup(Term v, int64_t dim, DimsRef order, bool joinsFirst) {
  int64_t groups = op.getGroups();
  Shape split = v.shape();
  split[dim] = split[dim].floorDiv(groups);
  split.insert(split.begin() + dim, v.size(groups));
  Dims permutation(order);
  for (int64_t d = 3; d < int64_t(split.size()); ++d)
    permutation.push_back(d);
  Term moved = transpose(reshape(v, split), permutation);
  Shape joined = moved.shape();
  size_t at = joinsFirst ? 0 : 1;
  joined[at] = joined[at] * joined[at + 1];
  joined.erase(joined.begin() + at + 1);
  return reshape(moved, joined);
}

/// A convolution whose padding may be symbolic: then it is an operation of its own.
Term ConvolutionRule::convolve(Term x, Term w, DimsRef strides, ShapeRef low, ShapeRef high, DimsRef dilations,
                               DimsRef inputDilations) {
  auto isStatic = [](AffineExpr n) { return getConstant(n).has_value(); };
  auto constants = [](ShapeRef sizes) {
    return llvm::map_to_vector(sizes, [](AffineExpr n) { return *getConstant(n); });
  };
  int64_t groups = op.getGroups();
  if (llvm::all_of(low, isStatic) && llvm::all_of(high, isStatic))
    return x.make<ConvolutionOp>(x.value(), w.value(), strides, constants(low), constants(high), dilations,
                                 inputDilations, groups, /*channels_last=*/false);
  Shape before(2, x.size(0)), after = before;
  before.append(low.begin(), low.end());
  after.append(high.begin(), high.end());
  Dims between(2, 0), none(spatial, 0), ones(spatial, 1);
  for (int64_t dilation : inputDilations)
    between.push_back(dilation - 1);
  Term padded = pad(x, before, after, between);
  return x.make<ConvolutionOp>(padded.value(), w.value(), strides, none, none, dilations, ones, groups,
                               /*channels_last=*/false);
}

/// The cotangent over the taps in reverse; strides and the input's dilation have changed places.
Term ConvolutionRule::ofInput() {
  // [O, C/g, ...] -> [g, O/g, C/g, ...] -> [C, O/g, ...]
  Term turned = reverse(regroup(w, 0, {0, 2, 1}, true), otherDims(w.rank(), {0, 1}));
  Shape before, after, rest(x.rank(), x.size(0));
  for (size_t i = 0; i < spatial; ++i) {
    AffineExpr whole = (size[i] - 1) * op.getInputDilations()[i] + 1;
    before.push_back(reach[i] - low[i]);
    after.push_back(whole - span[i] + low[i]);
    // What is behind the last tap has no derivative; how much that is may be symbolic where the kernel is not.
    if (getConstant(reach[i]) && !getConstant(after[i]) && op.getInputDilations()[i] == 1) {
      rest[i + 2] = after[i] - reach[i];
      after[i] = reach[i];
    }
  }
  Term whole = convolve(g, turned, op.getInputDilations(), before, after, op.getDilations(), op.getStrides());
  bool isWhole = llvm::all_of(rest, [](AffineExpr n) { return getConstant(n) == 0; });
  return isWhole ? whole : pad(whole, Shape(x.rank(), x.size(0)), rest, Dims(x.rank(), 0));
}

bool ConvolutionRule::isTransposed() {
  auto isOne = [](int64_t n) { return n == 1; };
  return llvm::all_of(op.getStrides(), isOne) && !llvm::all_of(op.getInputDilations(), isOne);
}

/// The cotangent over the input, in reverse: the zeros are multiplied by nothing.
Term ConvolutionRule::ofTransposedWeight() {
  // [N, O, ...] -> [N, g, O/g, ...] -> [O/g, g N, ...]
  Term samples = regroup(g, 1, {2, 1, 0}, false);
  Dims swapped = allDims(x.rank());
  std::swap(swapped[0], swapped[1]);
  Shape before, after;
  for (size_t i = 0; i < spatial; ++i) {
    before.push_back(reach[i] - low[i]);
    after.push_back((size[i] - 1) * op.getInputDilations()[i] + 1 - span[i] + low[i]);
  }
  Term result = convolve(samples, transpose(x, swapped), op.getDilations(), before, after, op.getInputDilations(),
                         op.getStrides());
  // [O/g, C, ...] -> [O/g, g, C/g, ...] -> [O, C/g, ...]
  return reverse(regroup(result, 1, {1, 0, 2}, true), otherDims(w.rank(), {0, 1}));
}

/// The input over the cotangent: samples are summed as channels are, and channels are samples.
Term ConvolutionRule::ofPlainWeight() {
  // [N, C, ...] -> [N, g, C/g, ...] -> [C/g, g N, ...]
  Term samples = regroup(x, 1, {2, 1, 0}, false);
  Dims swapped = allDims(x.rank());
  std::swap(swapped[0], swapped[1]);
  Shape after;
  for (size_t i = 0; i < spatial; ++i)
    after.push_back(reach[i] + span[i] - ((size[i] - 1) * op.getInputDilations()[i] + 1) - low[i]);
  Term result =
      convolve(samples, transpose(g, swapped), op.getDilations(), low, after, op.getStrides(), op.getInputDilations());
  return transpose(result, swapped);
}

Error ConvolutionOp::differentiate(Cotangents &c) {
  Term x = c.operand(0), w = c.operand(1);
  // Half types are multiplied as they are; the sums are f32.
  Term g = convert(c.grad(), x.element());
  Dims toFirst = allDims(x.rank()), weightToFirst = toFirst;
  if (getChannelsLast()) {
    int64_t last = x.rank() - 1;
    toFirst = {0, last};
    weightToFirst = {last, last - 1};
    for (int64_t d = 0; d < last - 1; ++d)
      toFirst.push_back(d + 1), weightToFirst.push_back(d);
  }
  ConvolutionRule rule(*this, transpose(x, toFirst), transpose(w, weightToFirst), transpose(conj(g), toFirst));
  // Both are linear in g: with g conjugated, the results are what is to be conjugated.
  c.add(0, convert(conj(transpose(rule.ofInput(), inverse(toFirst))), x.element()));
  c.add(1, convert(conj(transpose(rule.ofWeight(), inverse(weightToFirst))), w.element()));
  return Error::success();
}

} // namespace ptc::prims
