#include "compiler/codegen/cpu/pack/FoldScales.h"

#include "dialects/loop/Bodies.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/StridedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc::cpu {

namespace {

/// What a kernel of one multiplication reads: the tensor at the very indices, and the scale.
struct ScaledTensor {
  loop::ReadOp tensor, scale;
};

class FoldScalesPass : public PassWrapper<FoldScalesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)

  StringRef getArgument() const override { return "fold-scales"; }
  StringRef getDescription() const override { return "scales of rows are parts of products, or of their weights"; }

  void runOnOperation() override {
    SmallVector<loop::ContractOp> all;
    getOperation().walk([&](loop::ContractOp op) { all.push_back(op); });
    for (loop::ContractOp op : all)
      fold(op);
  }

private:
  static void fold(loop::ContractOp op);
};

} // namespace

static std::optional<ScaledTensor> findScale(loop::KernelOp kernel) {
  Block &members = kernel.getBody().front();
  auto map = llvm::dyn_cast<loop::MapOp>(members.front());
  if (!map || &members.back() != map->getNextNode() || map.getNumResults() != 1)
    return std::nullopt;
  Block &body = map.getBody().front();
  auto product = body.getTerminator()->getOperand(0).getDefiningOp<arith::MulFOp>();
  if (!product || !product.getType().isF32())
    return std::nullopt;
  loop::ReadOp reads[2];
  for (auto [i, read] : llvm::enumerate(reads)) {
    read = product->getOperand(i).getDefiningOp<loop::ReadOp>();
    if (!read || read.getWhere() || !llvm::equal(read.getIndices(), body.getArguments()))
      return std::nullopt;
  }
  auto isWhole = [&](loop::ReadOp read) {
    bool isSame = read.getTensor().getType() == map.getResult(0).getType();
    return isSame && loop::isIdentityRead(read, body.getNumArguments());
  };
  if (!isWhole(reads[0]))
    std::swap(reads[0], reads[1]);
  if (!isWhole(reads[0]))
    return std::nullopt;
  return ScaledTensor{reads[0], reads[1]};
}

/// The scale's place as an element of rhs tells it; nullopt where other things than k decide it.
static std::optional<Shape> findPlaceInWeights(loop::ContractOp op, AffineMap scale) {
  unsigned first = getShape(op.getResult(0)).size();
  for (unsigned dim = 0; dim < first; ++dim)
    if (scale.isFunctionOfDim(dim))
      return std::nullopt;
  // Packed weights have k last but one, others where the map says.
  AffineExpr k = getAffineDimExpr(first, op.getContext());
  ArrayRef<AffineExpr> places = op.getRhsMap().getResults();
  unsigned place = op.getRhsPanel() > 0 ? loop::tensorType(op.getRhs()).getRank() - 2
                                        : llvm::find(places, k) - places.begin();
  if (scale.getNumDims() != first + 1 || (op.getRhsPanel() == 0 && place == places.size()))
    return std::nullopt;
  Shape exprs;
  for (AffineExpr expr : scale.getResults())
    exprs.push_back(expr.replace(k, getAffineDimExpr(place, op.getContext())));
  return exprs;
}

/// The scale is the same for all rows: the weights, which are fewer, can be multiplied in their place.
static bool scaleWeights(loop::ContractOp op, loop::KernelOp kernel, Value tensor, Value scale, AffineMap map) {
  constexpr int64_t kFewer = 4;
  auto product = op->getParentOfType<loop::KernelOp>();
  auto rhs = llvm::cast<BlockArgument>(op.getRhs());
  auto rows = getConstant(ptc::product(getShape(tensor), op.getContext()));
  auto weights = getConstant(ptc::product(getShape(rhs), op.getContext()));
  auto place = findPlaceInWeights(op, map);
  if (!place || !rows || !weights || kFewer * *weights > *rows || !rhs.hasOneUse() ||
      !loop::elementType(rhs).isF32() || !loop::elementType(tensor).isF32())
    return false;
  loop::Builder b(kernel.getLoc(), product); // behind what makes the weights, if something does
  RankedTensorType type = loop::tensorType(rhs);
  SmallVector<Value> inputs = {product.getInputs()[rhs.getArgNumber()], scale};
  loop::KernelOp scaled = loop::createKernel(b, kernel.getName(), type.getRank(), type, inputs);
  Block *body = b.getBlock();
  Value result = loop::createMap(b, type, [&](ValueRange ids) -> Value {
    Value factor = loop::read(b, body->getArgument(1), *place, ids);
    return arith::MulFOp::create(b, loop::read(b, body->getArgument(0), ids), factor);
  });
  loop::YieldOp::create(b, result);
  product.getInputsMutable()[rhs.getArgNumber()].set(scaled.getResult(0));
  return true;
}

void FoldScalesPass::fold(loop::ContractOp op) {
  auto product = op->getParentOfType<loop::KernelOp>();
  auto lhs = llvm::dyn_cast<BlockArgument>(op.getLhs());
  if (!lhs || !llvm::isa<BlockArgument>(op.getRhs()))
    return;
  Value scaled = product.getInputs()[lhs.getArgNumber()];
  auto kernel = scaled.getDefiningOp<loop::KernelOp>();
  if (!kernel || !scaled.hasOneUse() || !lhs.hasOneUse())
    return;
  auto found = findScale(kernel);
  if (!found)
    return;
  auto input = [&](loop::ReadOp read) {
    return kernel.getInputs()[llvm::cast<BlockArgument>(read.getTensor()).getArgNumber()];
  };
  AffineMap map = found->scale.getMap().compose(op.getLhsMap());
  Value tensor = input(found->tensor), scale = input(found->scale);
  Location loc = FusedLoc::get(op.getContext(), {kernel.getLoc(), product.getLoc()});
  if (op.getRhsBf16x3() && loop::elementType(lhs).isF32()) {
    // It is read in vectors, as lhs is.
    if (!loop::isContiguousAlongK(op, map, found->scale.getTensor()))
      return;
    product.getInputsMutable().append(scale);
    op.getScaleMutable().assign(product.getBody().front().addArgument(scale.getType(), op.getLoc()));
    op.setScaleMapAttr(AffineMapAttr::get(map));
  } else if (!scaleWeights(op, kernel, tensor, scale, map)) {
    return;
  }
  product.getInputsMutable()[lhs.getArgNumber()].set(tensor);
  op->setLoc(FusedLoc::get(op.getContext(), {loc, op.getLoc()})); // keeps its reasons
  product->setLoc(loc);
  kernel.erase();
}

std::unique_ptr<Pass> createFoldScalesPass() { return std::make_unique<FoldScalesPass>(); }

} // namespace ptc::cpu
