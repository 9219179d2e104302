#include "compiler/graph/ChooseLayout.h"

#include "compiler/support/FunctionPass.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc {

namespace {

class ChooseLayoutPass : public PassWrapper<ChooseLayoutPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseLayoutPass)

  StringRef getArgument() const override { return "choose-layout"; }
  StringRef getDescription() const override { return "channels last for convolutions"; }

  void runOnOperation() override;
};

} // namespace

/// x, w, result: [N, C, spatial...], [O, C / groups, kernel...], [N, O, spatial...]
/// become [N, spatial..., C], [kernel..., C / groups, O], [N, spatial..., O].
static void makeChannelsLast(prims::ConvolutionOp op) {
  OpBuilder b(op);
  int64_t rank = getShape(op.getX()).size();
  SmallVector<int64_t> last = {0}, kernel, first = {0, rank - 1};
  for (int64_t i = 2; i < rank; ++i) {
    last.push_back(i);
    kernel.push_back(i);
    first.push_back(i - 1);
  }
  last.push_back(1);
  kernel.append({1, 0});
  Location loc = op.getLoc();
  Value x = prims::TransposeOp::create(b, loc, op.getX(), last);
  Value w = prims::TransposeOp::create(b, loc, op.getW(), kernel);
  auto convolution = prims::ConvolutionOp::create(b, loc, x, w, op.getStrides(), op.getLow(), op.getHigh(),
                                                  op.getDilations(), op.getInputDilations(), op.getGroups(),
                                                  /*channels_last=*/true);
  Value result = prims::TransposeOp::create(b, loc, convolution.getResult(), first);
  op.getResult().replaceAllUsesWith(result);
  op.erase();
}

/// A few features of each point of a large tensor in which features come first, as attention's heads do when they are
/// mixed: [c, points...] by [o, c] is [o, points...], and no [points..., o] whose vectors would be as short as o.
static bool putFeaturesFirst(prims::ContractOp op) {
  constexpr int64_t kMostFeatures = 8, kManyPoints = 64;
  Shape x = getShape(op.getLhs()), w = getShape(op.getRhs());
  if (!op.getLhsBatch().empty() || op.getLhsContract().size() != 1 || w.size() != 2)
    return false;
  int64_t rank = x.size(), features = op.getLhsContract().front();
  auto outputs = getConstant(w[1 - op.getRhsContract().front()]);
  auto points = getConstant(x.back());
  if (features + 1 == rank || !outputs || *outputs > kMostFeatures || (points && *points < kManyPoints))
    return false;
  OpBuilder b(op);
  Value product = prims::ContractOp::create(b, op.getLoc(), op.getRhs(), op.getLhs(), ArrayRef<int64_t>{},
                                            ArrayRef<int64_t>{}, op.getRhsContract(), op.getLhsContract());
  SmallVector<int64_t> featuresLast;
  for (int64_t i = 1; i < rank; ++i)
    featuresLast.push_back(i);
  featuresLast.push_back(0);
  op.getResult().replaceAllUsesWith(prims::TransposeOp::create(b, op.getLoc(), product, featuresLast));
  op.erase();
  return true;
}

void ChooseLayoutPass::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    bool changed = false;
    for (auto op : llvm::make_early_inc_range(function.getOps<prims::ConvolutionOp>()))
      if (!op.getChannelsLast()) {
        makeChannelsLast(op);
        changed = true;
      }
    for (auto op : llvm::make_early_inc_range(function.getOps<prims::ContractOp>()))
      changed |= putFeaturesFirst(op);
    if (!changed)
      continue;
    // In order, so that what an operation reads has sunk to it already.
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      OpBuilder b(&op);
      if (sinkTransposes(b, &op))
        op.erase();
    }
    eraseDead(function);
  }
}

std::unique_ptr<Pass> createChooseLayoutPass() { return std::make_unique<ChooseLayoutPass>(); }

} // namespace ptc
