#include "compiler/codegen/cpu/pack/SplitLongProducts.h"

#include "compiler/codegen/cpu/Target.h"
#include "compiler/codegen/cpu/pack/Bf16x3Weights.h"
#include "dialects/loop/LoopBuilder.h"
#include "dialects/loop/Reasons.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace ptc::cpu {

namespace {

class SplitLongProductsPass : public PassWrapper<SplitLongProductsPass, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SplitLongProductsPass)

  explicit SplitLongProductsPass(const Target &target) : target(target) {}

  StringRef getArgument() const override { return "split-long-products"; }
  StringRef getDescription() const override { return "contractions of a long k, part by part"; }

  void runOnOperation() override {
    if (!target.hasMatrixUnit())
      return;
    SmallVector<loop::ContractOp> all;
    getOperation().walk([&](loop::ContractOp op) { all.push_back(op); });
    for (loop::ContractOp op : all)
      if (int64_t length = lengthOfParts(op))
        split(op, length);
  }

private:
  static int64_t lengthOfParts(loop::ContractOp op);
  static void split(loop::ContractOp op, int64_t length);

  const Target &target;
};

} // namespace

/// How long a part of k is; 0: all of it is one.
int64_t SplitLongProductsPass::lengthOfParts(loop::ContractOp op) {
  Shape domain = loop::getDomain(op), sizes = *getSizesFromAttr(op.getKSizes());
  auto isF32 = [](Value value) { return loop::elementType(value).isF32(); };
  if (sizes.size() != 1 || !isF32(op.getLhs()) || !isF32(op.getRhs()) || op.getBatchRank() > 0)
    return 0;
  auto rows = getConstant(product(ShapeRef(domain).take_front(op.getMRank()), op.getContext()));
  auto all = getConstant(product(domain, op.getContext())), k = getConstant(sizes.front());
  // More rows than these are cut into blocks of rows instead.
  if (!rows || !all || !k || *rows > bf16x3::kRowsTogether || 2 * *all < bf16x3::kLeastFlopsUnsplit)
    return 0;
  int64_t bytes = int64_t(llvm::alignTo(*rows, bf16x3::kStep)) * *k * bf16x3::kTerms * 2;
  int64_t parts = llvm::divideCeil(bytes, bf16x3::kRowBytesInCache);
  constexpr int64_t kWhole = 4 * bf16x3::kStep;
  return parts > 1 ? llvm::alignTo(llvm::divideCeil(*k, parts), kWhole) : 0;
}

void SplitLongProductsPass::split(loop::ContractOp op, int64_t length) {
  auto kernel = op->getParentOfType<loop::KernelOp>();
  MLIRContext *context = op.getContext();
  int64_t k = *getConstant(getSizesFromAttr(op.getKSizes())->front());
  unsigned rank = getShape(op.getResult(0)).size();
  AffineMap lhsMap = op.getLhsMap(), rhsMap = op.getRhsMap();
  auto from = [&](AffineMap map, int64_t first) {
    Shape places = loop::makeDims(rank + 1, context);
    places.back() = places.back() + first;
    return map.replaceDimsAndSymbols(places, {}, rank + 1, map.getNumSymbols());
  };
  auto sizeOf = [&](int64_t first) {
    return makeSizesAttr(getAffineConstantExpr(std::min(length, k - first), context), context);
  };
  auto input = [&](Value inner) { return kernel.getInputs()[llvm::cast<BlockArgument>(inner).getArgNumber()]; };

  loop::addReason(op, llvm::formatv("k of {0} in parts of {1}, so that a part's rows in bf16 terms stay in {2} of L2",
                                    k, length, loop::describeBytes(bf16x3::kRowBytesInCache)));

  // All but the last part: sums as they are, in f32.
  loop::Builder b(op.getLoc(), kernel);
  Type type = makeTensorType(getShape(op.getResult(0)), b.getF32Type());
  Value sum;
  int64_t first = 0;
  for (; first + length < k; first += length) {
    SmallVector<Value> inputs = {input(op.getLhs()), input(op.getRhs())};
    if (sum)
      inputs.push_back(sum);
    std::string name = (kernel.getName() + "_part" + llvm::Twine(first / length)).str();
    OpBuilder::InsertionGuard guard(b);
    loop::KernelOp part = loop::createKernel(b, name, /*outer=*/0, type, inputs);
    Block &body = *b.getBlock();
    auto product = loop::ContractOp::create(b, TypeRange(type), body.getArgument(0), body.getArgument(1),
                                            from(lhsMap, first), from(rhsMap, first), op.getBatchRank(), op.getMRank(),
                                            op.getNRank(), sizeOf(first));
    loop::buildRegion(b, product.getEpilogue(), rank, b.getF32Type(), [&](ValueRange args) {
      Value value = args.back();
      if (sum)
        value = arith::AddFOp::create(b, loop::read(b, body.getArgument(2), args.drop_back()), value);
      return SmallVector<Value>{value};
    });
    loop::YieldOp::create(b, product.getResults());
    sum = part.getResult(0);
  }

  // The last part adds them before all that its epilogue does.
  kernel.getInputsMutable().append(sum);
  Value before = kernel.getBody().front().addArgument(type, op.getLoc());
  Block &epilogue = op.getEpilogue().front();
  Value accumulated = epilogue.getArguments().back();
  b.setInsertionPointToStart(&epilogue);
  Value read = loop::read(b, before, epilogue.getArguments().drop_back());
  Value added = arith::AddFOp::create(b, read, accumulated);
  accumulated.replaceAllUsesExcept(added, added.getDefiningOp());
  op.setLhsMap(from(lhsMap, first));
  op.setRhsMap(from(rhsMap, first));
  op.setKSizesAttr(sizeOf(first));
}

std::unique_ptr<Pass> createSplitLongProductsPass(const Target &target) {
  return std::make_unique<SplitLongProductsPass>(target);
}

} // namespace ptc::cpu
