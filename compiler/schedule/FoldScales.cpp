//===- FoldScales.cpp -----------------------------------------------------===//

#include "compiler/schedule/FoldScales.h"

#include "compiler/schedule/Bodies.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/StridedAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc {

namespace {

/// What a kernel of one multiplication reads: the tensor at the very indices, and the scale.
struct ScaledTensor {
  loop::ReadOp tensor, scale;
};

class FoldScalesPass : public PassWrapper<FoldScalesPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FoldScalesPass)

  StringRef getArgument() const override { return "fold-scales"; }
  StringRef getDescription() const override { return "scales of rows are parts of products in pieces"; }

  void runOnOperation() override {
    SmallVector<loop::ContractOp> all;
    getOperation().walk([&](loop::ContractOp op) {
      if (op.getRhsPieces())
        all.push_back(op);
    });
    for (loop::ContractOp op : all)
      fold(op);
  }

private:
  void fold(loop::ContractOp op);
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
    return isSame && schedule::isIdentityRead(read, body.getNumArguments());
  };
  if (!isWhole(reads[0]))
    std::swap(reads[0], reads[1]);
  if (!isWhole(reads[0]))
    return std::nullopt;
  return ScaledTensor{reads[0], reads[1]};
}

void FoldScalesPass::fold(loop::ContractOp op) {
  auto product = op->getParentOfType<loop::KernelOp>();
  auto lhs = llvm::cast<BlockArgument>(op.getLhs());
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
  // It is read in vectors, as lhs is.
  if (!loop::isContiguousAlongK(op, map, found->scale.getTensor()))
    return;
  product.getInputsMutable()[lhs.getArgNumber()].set(input(found->tensor));
  Value scale = input(found->scale);
  product.getInputsMutable().append(scale);
  op.getScaleMutable().assign(product.getBody().front().addArgument(scale.getType(), op.getLoc()));
  op.setScaleMapAttr(AffineMapAttr::get(map));
  Location loc = FusedLoc::get(op.getContext(), {kernel.getLoc(), product.getLoc()});
  op->setLoc(loc);
  product->setLoc(loc);
  kernel.erase();
}

std::unique_ptr<Pass> createFoldScalesPass() { return std::make_unique<FoldScalesPass>(); }

} // namespace ptc
