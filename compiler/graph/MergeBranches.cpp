#include "compiler/graph/MergeBranches.h"

#include "compiler/graph/ConstantValues.h"
#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

namespace {

using Sizes = SmallVector<int64_t>;

/// What a term of the sum adds to the weights of a convolution: the weights of a kernel like its own, and the tap of
/// its kernel on which the first tap of that one lies.
struct Branch {
  Value weights;
  Sizes place;
};

class Merging {
public:
  explicit Merging(func::FuncOp function) : function(function) {}
  void run();

private:
  SmallVector<Value> collectTerms(AddOp sum);
  bool isBranchable(Value term);
  bool isConstant(Value term);
  std::optional<Branch> getBranch(OpBuilder &b, ConvolutionOp base, Value term);
  std::optional<Branch> getConvolutionBranch(ConvolutionOp base, ConvolutionOp other);
  std::optional<Branch> getScaleBranch(OpBuilder &b, ConvolutionOp base, MulOp scaled);
  void merge(AddOp sum);

  func::FuncOp function;
  ConstantValues constants;
};

} // namespace

static RankedTensorType typeOf(Value value) { return llvm::cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Where the spatial dimensions of a convolution's weights begin.
static unsigned firstSpatial(ConvolutionOp op) { return op.getChannelsLast() ? 0 : 2; }

static Sizes kernelOf(ConvolutionOp op) {
  return Sizes(typeOf(op.getW()).getShape().slice(firstSpatial(op), op.getStrides().size()));
}

static Value pad(OpBuilder &b, Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  Location loc = x.getLoc();
  Value zero = FullOp::create(b, loc, b.getFloatAttr(typeOf(x).getElementType(), 0), b.getDenseI64ArrayAttr({}));
  auto sizes = [&](ArrayRef<int64_t> values) { return b.getDenseI64ArrayAttr(values); };
  return PadOp::create(b, loc, x, zero, sizes(low), sizes(high), sizes(Sizes(low.size(), 0)));
}

static Value reshape(OpBuilder &b, Value x, ArrayRef<int64_t> sizes) {
  return ReshapeOp::create(b, x.getLoc(), x, b.getDenseI64ArrayAttr(sizes));
}

static Value transpose(OpBuilder &b, Value x, ArrayRef<int64_t> permutation) {
  return TransposeOp::create(b, x.getLoc(), x, b.getDenseI64ArrayAttr(permutation));
}

/// Weights of a kernel of one tap, in the layout of `op`'s, with which each channel is multiplied by its factor: input
/// i of a group is multiplied by factors[group][i] in its output i.
static Value makeDiagonal(OpBuilder &b, ConvolutionOp op, Value factors) {
  int64_t groups = op.getGroups(), channels = typeOf(factors).getNumElements(), size = channels / groups;
  // Rows with `size` zeros after their element, cut again to `size` each: the elements lie on the diagonal.
  Value rows = reshape(b, transpose(b, reshape(b, factors, {groups, size}), {1, 0}), {size, 1, groups});
  Value padded = reshape(b, pad(b, rows, {0, 0, 0}, {0, size, 0}), {size * (size + 1), groups});
  auto sizes = [&](ArrayRef<int64_t> values) { return b.getDenseI64ArrayAttr(values); };
  Value cut = SliceOp::create(b, op.getLoc(), padded, sizes({0, 0}), sizes({size * size, groups}), sizes({1, 1}));
  Value diagonal = reshape(b, cut, {size, size, groups}); // [input][output][group]
  Sizes taps(op.getStrides().size(), 1), shape{size, channels};
  if (op.getChannelsLast()) {
    diagonal = transpose(b, diagonal, {0, 2, 1});
    shape.insert(shape.begin(), taps.begin(), taps.end());
  } else {
    diagonal = transpose(b, diagonal, {2, 1, 0});
    std::swap(shape[0], shape[1]);
    shape.append(taps);
  }
  return reshape(b, diagonal, shape);
}

/// With zeros for the other taps of op's kernel.
static Value fillKernel(OpBuilder &b, ConvolutionOp op, const Branch &branch) {
  ArrayRef<int64_t> from = typeOf(branch.weights).getShape(), to = typeOf(op.getW()).getShape();
  Sizes low(to.size(), 0), high(to.size(), 0);
  for (auto [i, place] : llvm::enumerate(branch.place)) {
    unsigned dim = firstSpatial(op) + i;
    low[dim] = place, high[dim] = to[dim] - from[dim] - place;
  }
  return from == to ? branch.weights : pad(b, branch.weights, low, high);
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// The tap of `base` that reads what a tap reads at `-low` from where the window begins; none if no tap does.
static std::optional<int64_t> findTap(ConvolutionOp base, unsigned dim, int64_t low) {
  int64_t distance = base.getLow()[dim] - low, dilation = base.getDilations()[dim];
  if (distance < 0 || distance % dilation)
    return std::nullopt;
  return distance / dilation;
}

std::optional<Branch> Merging::getConvolutionBranch(ConvolutionOp base, ConvolutionOp other) {
  if (other == base || other.getX() != base.getX() || other.getStrides() != base.getStrides() ||
      other.getGroups() != base.getGroups() || other.getChannelsLast() != base.getChannelsLast())
    return std::nullopt;
  Branch branch{other.getW(), {}};
  Sizes kernel = kernelOf(base);
  for (auto [dim, taps] : llvm::enumerate(kernelOf(other))) {
    auto place = findTap(base, dim, other.getLow()[dim]);
    bool alike = taps == 1 || other.getDilations()[dim] == base.getDilations()[dim];
    if (!place || !alike || *place + taps > kernel[dim])
      return std::nullopt;
    branch.place.push_back(*place);
  }
  return branch;
}

std::optional<Branch> Merging::getScaleBranch(OpBuilder &b, ConvolutionOp base, MulOp scaled) {
  Value x = scaled.getLhs(), factors = scaled.getRhs();
  if (x != base.getX())
    std::swap(x, factors);
  auto broadcast = factors.getDefiningOp<BroadcastInDimOp>();
  int64_t channel = base.getChannelsLast() ? typeOf(x).getRank() - 1 : 1;
  bool isFactor = broadcast && broadcast.getDims() == ArrayRef<int64_t>{channel} &&
                  constants.contains(broadcast.getX()) &&
                  typeOf(broadcast.getX()).getShape() == typeOf(x).getShape().slice(channel, 1);
  if (x != base.getX() || !isFactor || llvm::any_of(base.getStrides(), [](int64_t s) { return s != 1; }))
    return std::nullopt;
  Branch branch;
  Sizes kernel = kernelOf(base);
  for (auto [dim, taps] : llvm::enumerate(kernel)) {
    auto place = findTap(base, dim, 0);
    if (!place || *place >= taps)
      return std::nullopt;
    branch.place.push_back(*place);
  }
  branch.weights = makeDiagonal(b, base, broadcast.getX());
  return branch;
}

bool Merging::isBranchable(Value term) {
  auto op = term.getDefiningOp<ConvolutionOp>();
  return op && op->hasOneUse() && constants.contains(op.getW()) && typeOf(op.getW()).hasStaticShape() &&
         llvm::all_of(op.getInputDilations(), [](int64_t d) { return d == 1; });
}

std::optional<Branch> Merging::getBranch(OpBuilder &b, ConvolutionOp base, Value term) {
  if (isBranchable(term))
    return getConvolutionBranch(base, term.getDefiningOp<ConvolutionOp>());
  auto scaled = term.getDefiningOp<MulOp>();
  return scaled && scaled->hasOneUse() ? getScaleBranch(b, base, scaled) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Also where the sizes that it is repeated to are symbolic.
bool Merging::isConstant(Value term) {
  auto broadcast = term.getDefiningOp<BroadcastInDimOp>();
  return constants.contains(broadcast ? broadcast.getX() : term);
}

/// The terms of a sum, through sums that nothing else reads.
SmallVector<Value> Merging::collectTerms(AddOp sum) {
  SmallVector<Value> terms, left{sum.getRhs(), sum.getLhs()}; // no recursion: sums may be long
  while (!left.empty()) {
    Value term = left.pop_back_val();
    auto inner = term.getDefiningOp<AddOp>();
    if (inner && inner->hasOneUse())
      left.append({inner.getRhs(), inner.getLhs()});
    else
      terms.push_back(term);
  }
  return terms;
}

void Merging::merge(AddOp sum) {
  SmallVector<Value> terms = collectTerms(sum);
  // The largest kernel that other branches fit.
  SmallVector<ConvolutionOp> bases;
  for (Value term : terms)
    if (isBranchable(term))
      bases.push_back(term.getDefiningOp<ConvolutionOp>());
  llvm::stable_sort(bases, [](ConvolutionOp a, ConvolutionOp b) {
    return typeOf(a.getW()).getNumElements() > typeOf(b.getW()).getNumElements();
  });
  OpBuilder b(sum);
  bool changed = false;
  for (ConvolutionOp base : bases) {
    if (!llvm::is_contained(terms, base.getResult()))
      continue; // a branch of another
    Value weights = base.getW();
    SmallVector<Location> locations{base.getLoc()};
    llvm::erase_if(terms, [&](Value term) {
      auto branch = getBranch(b, base, term);
      if (!branch)
        return false;
      weights = AddOp::create(b, base.getLoc(), weights, fillKernel(b, base, *branch));
      locations.push_back(term.getLoc());
      return true;
    });
    if (weights == base.getW())
      continue;
    Operation *merged = b.clone(*base);
    merged->setOperand(1, weights);
    merged->setLoc(b.getFusedLoc(locations));
    *llvm::find(terms, base.getResult()) = merged->getResult(0);
    changed = true;
  }
  if (!changed)
    return;
  // Constants beside each other: what they add up to is one.
  llvm::stable_sort(terms, [&](Value x, Value y) { return !isConstant(x) && isConstant(y); });
  auto firstConstant = llvm::find_if(terms, [&](Value term) { return isConstant(term); });
  auto total = [&](llvm::iterator_range<Value *> values) {
    Value result = *values.begin();
    for (Value term : llvm::drop_begin(values))
      result = AddOp::create(b, sum.getLoc(), result, term);
    return result;
  };
  Value result = total({terms.begin(), firstConstant});
  if (firstConstant != terms.end())
    result = AddOp::create(b, sum.getLoc(), result, total({firstConstant, terms.end()}));
  sum.getResult().replaceAllUsesWith(result);
}

void Merging::run() {
  auto isPart = [](AddOp op) { return op->hasOneUse() && llvm::isa<AddOp>(*op->user_begin()); };
  for (AddOp op : llvm::make_early_inc_range(function.front().getOps<AddOp>())) {
    auto element = llvm::dyn_cast<FloatType>(typeOf(op).getElementType());
    if (element && element.getWidth() >= 32 && !isPart(op))
      merge(op);
  }
  eraseDead(function);
}

std::unique_ptr<Pass> createMergeBranchesPass() {
  return makeFunctionPass<PrimsDialect>("merge-branches", "parallel convolutions that are summed are one",
                                        [](func::FuncOp function) {
                                          Merging(function).run();
                                          return success();
                                        });
}

} // namespace ptc
