//===- SinkReshape.cpp - reshapes move behind elementwise code ------------===//
//
// f(reshape(x), y) = reshape(f(x, y')) where y' is y in the shape of x: another
// reshape from it or of a weight, a full, or a broadcast along dimensions that the reshape
// leaves alone. Two reshapes then meet and cancel (view, linear, view).
//
//===----------------------------------------------------------------------===//

#include "compiler/graph/simplify/ReshapeGroups.h"
#include "compiler/graph/simplify/Rules.h"

using namespace mlir;
using namespace ptc::prims;

namespace ptc::simplify {

namespace {

class SinkReshape : public RewritePattern {
public:
  explicit SinkReshape(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!isElementwise(op))
      return failure();
    ReshapeOp reshape;
    // A reshape of an argument stays there: folding may take it away.
    for (Value operand : op->getOperands())
      if (auto candidate = operand.getDefiningOp<ReshapeOp>();
          candidate && !reshape && !llvm::isa<BlockArgument>(candidate.getX()))
        reshape = candidate;
    if (!reshape)
      return failure();
    Shape from = getShape(reshape.getX()), to = getShape(reshape);
    auto groups = groupDims(from, to);
    if (!groups || !llvm::all_of(op->getOperands(), [&](Value v) { return canView(v, from, *groups); }))
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(view(b, operand, from, *groups));
    Value result = rebuildElementwise(b, op, operands, from);
    b.replaceOpWithNewOp<ReshapeOp>(op, op->getResult(0).getType(), result, reshape.getSizes());
    return success();
  }

private:
  using Groups = ArrayRef<ReshapeGroup>;

  /// The dimension of the reshape's operand that `dim` of its result is.
  static std::optional<int64_t> findSource(int64_t dim, Groups groups) {
    for (const ReshapeGroup &group : groups)
      if (group.isSingle() && int64_t(group.to) == dim)
        return group.from;
    return std::nullopt;
  }

  static bool canView(Value value, ShapeRef from, Groups groups) {
    if (getFullValue(value))
      return true;
    if (auto reshape = value.getDefiningOp<ReshapeOp>())
      return llvm::isa<BlockArgument>(reshape.getX()) || haveSameShape(getShape(reshape.getX()), from);
    auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
    return broadcast && llvm::all_of(broadcast.getDims(), [&](int64_t dim) { return findSource(dim, groups); });
  }

  static Value view(PatternRewriter &b, Value value, ShapeRef from, Groups groups) {
    if (Attribute full = getFullValue(value))
      return makeFull(b, value.getLoc(), full, from);
    if (auto reshape = value.getDefiningOp<ReshapeOp>()) {
      if (haveSameShape(getShape(reshape.getX()), from))
        return reshape.getX();
      return ReshapeOp::create(b, value.getLoc(), reshape.getX(), makeSizesAttr(from, b.getContext()));
    }
    auto broadcast = value.getDefiningOp<BroadcastInDimOp>();
    SmallVector<int64_t> dims;
    for (int64_t dim : broadcast.getDims())
      dims.push_back(*findSource(dim, groups));
    return BroadcastInDimOp::create(b, value.getLoc(), broadcast.getX(), makeSizesAttr(from, b.getContext()), dims);
  }
};

} // namespace

void addSinkReshape(RewritePatternSet &rules) { rules.add<SinkReshape>(rules.getContext()); }

} // namespace ptc::simplify
