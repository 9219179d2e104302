#include "compiler/graph/Patterns.h"

#include "dialects/aten/AtenDialect.h"
#include "dialects/aten/AtenOp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>

using namespace mlir;

namespace ptc {

using aten::AtenOp;

namespace {

/// The operation that makes a value, when it is one of `names`.
std::optional<AtenOp> madeBy(Value value, ArrayRef<StringRef> names) {
  Operation *op = value.getDefiningOp();
  if (!op || !AtenOp::isKnown(op) || !llvm::is_contained(names, AtenOp(op).name()))
    return std::nullopt;
  return AtenOp(op);
}

RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Past operations that change nothing: dropout at inference, copies.
Value skipIdentities(Value value) {
  while (auto op = madeBy(value, {"dropout.default", "clone.default", "contiguous.default", "alias.default",
                                  "detach.default", "to.dtype"})) {
    bool isDropout = op->name() == "dropout.default";
    Value source = op->tensor(isDropout ? "input" : "self");
    bool changes = isDropout && op->boolean("train") && op->real("p") != 0;
    if (changes || source.getType() != value.getType() || !value.hasOneUse())
      break;
    value = source;
  }
  return value;
}

/// The number that `x * n`, `x / n` applies to each element.
std::optional<double> numberOf(const AtenOp &op) {
  if (!op.schema().find("other")->isTensor()) {
    auto scalar = op.scalar("other");
    return scalar ? std::optional(scalar->real) : std::nullopt;
  }
  auto number = madeBy(op.tensor("other"), {"scalar_tensor.default"});
  auto scalar = number ? number->scalar("s") : std::nullopt;
  return scalar ? std::optional(scalar->real) : std::nullopt;
}

/// softmax(scale * query key^T, masked) value, as far as it is found.
struct Attention {
  Value query, key, value;
  Value added;    ///< To the scores.
  Value excluded; ///< Bools: true where there is no attention.
  double scale = 1;
  SmallVector<Location> parts; ///< Where the model spells it out, the last first.
};

bool isLastDim(const AtenOp &op, Value x) {
  int64_t dim = op.integer("dim"), rank = typeOf(x).getRank();
  return dim == -1 || dim == rank - 1;
}

/// A mask that is broadcast to the scores and not the other way round.
bool fits(Value mask, Value scores) {
  return typeOf(mask).getRank() > 0 && typeOf(mask).getRank() <= typeOf(scores).getRank();
}

/// Peels scale and mask off the scores, from the outside in.
Value peelScores(Value scores, Attention &found) {
  if (auto op = madeBy(scores, {"masked_fill.Scalar"}); op && scores.hasOneUse()) {
    auto value = op->scalar("value");
    if (value && std::isinf(value->real) && value->real < 0 && op->tensor("self").getType() == scores.getType()) {
      found.excluded = op->tensor("mask");
      found.parts.push_back(scores.getLoc());
      scores = op->tensor("self");
    }
  } else if (auto op = madeBy(scores, {"add.Tensor"}); op && scores.hasOneUse()) {
    auto alpha = op->scalar("alpha");
    Value inner = op->tensor("self"), mask = op->tensor("other");
    if (alpha && alpha->real == 1 && inner.getType() == scores.getType() && fits(mask, scores) &&
        typeOf(mask).getElementType() == typeOf(scores).getElementType()) {
      found.added = mask;
      found.parts.push_back(scores.getLoc());
      scores = inner;
    }
  }
  while (auto op = madeBy(scores, {"mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"})) {
    auto number = numberOf(*op);
    if (!number || !scores.hasOneUse() || op->tensor("self").getType() != scores.getType())
      break;
    found.scale *= op->name().starts_with("mul") ? *number : 1 / *number;
    found.parts.push_back(scores.getLoc());
    scores = op->tensor("self");
  }
  return scores;
}

std::optional<Attention> match(const AtenOp &product) {
  Attention found;
  found.value = product.tensor(product.name() == "bmm.default" ? "mat2" : "other");
  Value weights = skipIdentities(product.tensor("self"));
  auto softmax = madeBy(weights, {"softmax.int", "_softmax.default"});
  if (!softmax || !weights.hasOneUse() || !isLastDim(*softmax, weights))
    return std::nullopt;
  Value scores = skipIdentities(softmax->tensor("self"));
  if (scores.getType() != weights.getType())
    return std::nullopt;
  found.parts = {product->getLoc(), weights.getLoc()};
  scores = peelScores(scores, found);
  auto contraction = madeBy(scores, {"matmul.default", "bmm.default"});
  if (!contraction || !scores.hasOneUse())
    return std::nullopt;
  found.parts.push_back(scores.getLoc());
  found.query = contraction->tensor("self");
  found.key = contraction->tensor(contraction->name() == "bmm.default" ? "mat2" : "other");
  // [..., L, E] all three, of one batch and one floating type.
  int64_t rank = typeOf(found.query).getRank();
  Type element = typeOf(found.query).getElementType();
  if (rank < 3 || !isa<FloatType>(element))
    return std::nullopt;
  for (Value x : {found.key, found.value})
    if (typeOf(x).getRank() != rank || typeOf(x).getElementType() != element ||
        ArrayRef(getShape(x)).drop_back(2) != ArrayRef(getShape(found.query)).drop_back(2))
      return std::nullopt;
  // For features that a call counts attention has no kernel: it would be spelled out again.
  if (typeOf(found.query).isDynamicDim(rank - 1) || typeOf(found.value).isDynamicDim(rank - 1))
    return std::nullopt;
  return found;
}

Value transposeLast(OpBuilder &b, Location loc, Value x) {
  auto transposed = madeBy(x, {"transpose.int"});
  if (transposed) {
    int64_t rank = typeOf(x).getRank();
    auto wrap = [&](int64_t dim) { return dim < 0 ? dim + rank : dim; };
    int64_t d0 = wrap(transposed->integer("dim0")), d1 = wrap(transposed->integer("dim1"));
    if (std::min(d0, d1) == rank - 2 && std::max(d0, d1) == rank - 1)
      return transposed->tensor("self");
  }
  Shape sizes = getShape(x);
  std::swap(sizes[sizes.size() - 2], sizes.back());
  return aten::Call("transpose.int")
      .set("self", x)
      .set("dim0", b.getI64IntegerAttr(-2))
      .set("dim1", b.getI64IntegerAttr(-1))
      .create(b, loc, {makeTensorType(sizes, typeOf(x).getElementType())})
      ->getResult(0);
}

void replace(Operation *product, const Attention &found) {
  OpBuilder b(product);
  Location loc = b.getFusedLoc(llvm::to_vector(llvm::reverse(found.parts)));
  Value mask = found.added;
  if (found.excluded)
    mask = aten::Call("logical_not.default").set("self", found.excluded)
               .create(b, loc, {found.excluded.getType()})->getResult(0);
  Operation *attention = aten::Call("scaled_dot_product_attention.default")
                             .set("query", found.query)
                             .set("key", transposeLast(b, loc, found.key))
                             .set("value", found.value)
                             .set("attn_mask", mask)
                             .set("scale", Attribute(b.getF64FloatAttr(found.scale)))
                             .create(b, loc, product->getResultTypes());
  attention->setAttr(aten::kEmptyIsNanNote, b.getUnitAttr());
  product->replaceAllUsesWith(attention);
  product->erase();
}

struct PatternsPass : PassWrapper<PatternsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PatternsPass)
  StringRef getArgument() const override { return "patterns"; }
  StringRef getDescription() const override { return "attention that a model spells out as one operator"; }

  // What a replaced product had read is left for Decompose's clean-up: no
  // aten operation has an effect any more.
  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (AtenOp::isKnown(op) && (AtenOp(op).name() == "matmul.default" || AtenOp(op).name() == "bmm.default"))
        products.push_back(op);
    });
    for (Operation *product : products)
      if (auto attention = match(AtenOp(product)))
        replace(product, *attention);
  }
};

} // namespace

std::unique_ptr<Pass> createPatternsPass() { return std::make_unique<PatternsPass>(); }

} // namespace ptc
