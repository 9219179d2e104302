#include "compiler/codegen/cpu/pack/FuseConvolutions.h"

#include "dialects/loop/KernelCost.h"
#include "dialects/loop/Loop.h"
#include "dialects/loop/LoopBuilder.h"
#include "dialects/loop/Reasons.h"
#include "dialects/loop/Tuning.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace ptc::cpu {

namespace {

class FuseConvolutionsPass : public PassWrapper<FuseConvolutionsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FuseConvolutionsPass)

  StringRef getArgument() const override { return "fuse-convolutions"; }
  StringRef getDescription() const override { return "products by the rows that a grouped convolution needs"; }

  void runOnOperation() override {
    SmallVector<loop::ConvolutionOp> all;
    getOperation().walk([&](loop::ConvolutionOp op) { all.push_back(op); });
    for (loop::ConvolutionOp op : all)
      if (loop::ContractOp product = findProduct(op))
        fuse(product, op);
  }

private:
  static loop::ContractOp findProduct(loop::ConvolutionOp op);
  static bool pays(loop::ContractOp product);
  static void fuse(loop::ContractOp product, loop::ConvolutionOp convolution);
};

} // namespace

/// Bytes of the product's result, at least.
static int64_t leastBytes(loop::ContractOp product) {
  return getRange(loop::getTensorBytes(product.getResult(0).getType()), getSymbols(product)).min;
}

/// What a product of a short k writes takes longer than what it adds up, once it has left L2. From a k of 64 on the
/// matrix unit may take it.
bool FuseConvolutionsPass::pays(loop::ContractOp product) {
  constexpr int64_t kShort = 64, kLeastBytes = 1 << 20;
  Shape k = *getSizesFromAttr(product.getKSizes());
  return k.size() == 1 && getConstant(k.front()).value_or(kShort) < kShort && leastBytes(product) >= kLeastBytes;
}

/// The product that the convolution can follow in one kernel.
loop::ContractOp FuseConvolutionsPass::findProduct(loop::ConvolutionOp op) {
  auto kernel = op->getParentOfType<loop::KernelOp>();
  auto x = llvm::dyn_cast<BlockArgument>(op.getX());
  if (!x || !x.hasOneUse() || op->getNextNode() != kernel.getBody().front().getTerminator())
    return {};
  Value input = kernel.getInputs()[x.getArgNumber()];
  auto before = input.getDefiningOp<loop::KernelOp>();
  if (!before || !input.hasOneUse() || before.getNumResults() != 1)
    return {};
  auto product = llvm::dyn_cast<loop::ContractOp>(before.getBody().front().front());
  bool isAlone = product && product->getNextNode() == before.getBody().front().getTerminator();
  return isAlone && loop::canFuseConvolution(product, op) && pays(product) ? product : loop::ContractOp();
}

void FuseConvolutionsPass::fuse(loop::ContractOp product, loop::ConvolutionOp convolution) {
  auto first = product->getParentOfType<loop::KernelOp>(), second = convolution->getParentOfType<loop::KernelOp>();
  unsigned x = llvm::cast<BlockArgument>(convolution.getX()).getArgNumber();
  SmallVector<Value> inputs(first.getInputs());
  for (auto [i, input] : llvm::enumerate(second.getInputs()))
    if (i != x)
      inputs.push_back(input);
  loop::Builder b(FusedLoc::get(product.getContext(), {first.getLoc(), second.getLoc()}), second);
  std::string name = (first.getName() + "_" + loop::getPlainName(second)).str();
  loop::KernelOp kernel = loop::createKernel(b, name, /*outer=*/0, second.getResultTypes(), inputs);
  if (Attribute tuning = first->getAttr(loop::kTuning))
    kernel->setAttr(loop::kTuning, tuning);
  Block *body = b.getBlock();
  IRMapping mapping;
  unsigned next = 0;
  for (BlockArgument argument : first.getBody().getArguments())
    mapping.map(argument, body->getArgument(next++));
  Operation *rows = b.clone(*product, mapping);
  for (BlockArgument argument : second.getBody().getArguments())
    mapping.map(argument, argument.getArgNumber() == x ? rows->getResult(0) : Value(body->getArgument(next++)));
  bool isKnown = getConstant(loop::getTensorBytes(product.getResult(0).getType())).has_value();
  loop::addReason(rows, "a short k, whose result of " + loop::describeBytes(leastBytes(product)) +
                            (isKnown ? "" : " or more") + " would leave L2");
  Operation *last = b.clone(*convolution, mapping);
  SmallVector<Value> yielded;
  for (Value value : second.getBody().front().getTerminator()->getOperands())
    yielded.push_back(last->getResult(llvm::cast<OpResult>(value).getResultNumber()));
  loop::YieldOp::create(b, yielded);
  second.replaceAllUsesWith(kernel.getResults());
  second.erase();
  first.erase();
}

std::unique_ptr<Pass> createFuseConvolutionsPass() { return std::make_unique<FuseConvolutionsPass>(); }

} // namespace ptc::cpu
