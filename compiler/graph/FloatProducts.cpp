#include "compiler/graph/FloatProducts.h"

#include "compiler/graph/decompose/Builder.h"
#include "dialects/core/SymbolicShape.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ptc {

using decompose::B;

namespace {

/// float32 has all whole numbers up to this one.
constexpr int64_t kMostExact = 1 << 24;

/// Whole numbers from `low` to `high`.
struct Bounds {
  int64_t low = 0, high = 0;

  int64_t size() const { return std::max(std::abs(low), std::abs(high)); }
};

} // namespace

/// Of bytes as wider integers, and of differences of such; nothing for other values.
static std::optional<Bounds> getBounds(Value value) {
  if (elementOf(value).isInteger(8))
    return elementOf(value).isUnsignedInteger() ? Bounds{0, 255} : Bounds{-128, 127};
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  return llvm::TypeSwitch<Operation *, std::optional<Bounds>>(op)
      .Case([](prims::FullOp op) -> std::optional<Bounds> {
        auto number = llvm::dyn_cast<IntegerAttr>(op.getValue());
        int64_t n = number ? number.getValue().getSExtValue() : 0;
        return number && std::abs(n) < kMostExact ? std::optional(Bounds{n, n}) : std::nullopt;
      })
      .Case([](prims::SubOp op) -> std::optional<Bounds> {
        auto lhs = getBounds(op.getLhs()), rhs = getBounds(op.getRhs());
        return lhs && rhs ? std::optional(Bounds{lhs->low - rhs->high, lhs->high - rhs->low}) : std::nullopt;
      })
      .Case<prims::ConvertOp, prims::TransposeOp, prims::ReshapeOp, prims::BroadcastInDimOp>(
          [](Operation *op) { return getBounds(op->getOperand(0)); })
      .Default([](Operation *) { return std::nullopt; });
}

/// Whether whoever reads the value, or it and something added to it, takes it for float32.
static bool isReadAsFloat(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    if (llvm::isa<prims::ConvertOp>(user))
      return elementOf(user->getResult(0)).isF32();
    return llvm::isa<prims::AddOp, prims::SubOp, prims::TransposeOp, prims::ReshapeOp>(user) &&
           isReadAsFloat(user->getResult(0));
  });
}

/// Whether no sum of the contraction, or of some of its terms, is too large for float32.
static bool isExact(prims::ContractOp op, const Bounds &lhs, const Bounds &rhs) {
  int64_t largest = lhs.size() * rhs.size();
  for (int64_t dim : op.getLhsContract()) {
    auto size = getConstant(getShape(op.getLhs())[dim]);
    largest = size && *size <= kMostExact && largest <= kMostExact ? largest * *size : kMostExact + 1;
  }
  return largest <= kMostExact;
}

bool multiplyInFloat(Operation *product) {
  Value lhs = product->getOperand(0), rhs = product->getOperand(1), sums = product->getResult(0);
  if (!elementOf(sums).isInteger(32) || !elementOf(lhs).isInteger(32) || !elementOf(rhs).isInteger(32))
    return false;
  auto ofLhs = getBounds(lhs), ofRhs = getBounds(rhs);
  auto contract = llvm::dyn_cast<prims::ContractOp>(product);
  if (!ofLhs || !ofRhs || !((contract && isExact(contract, *ofLhs, *ofRhs)) || isReadAsFloat(sums)))
    return false;
  OpBuilder builder(product);
  decompose::Scope scope;
  scope.symbols = getSymbols(product->getParentOfType<func::FuncOp>());
  B b(builder, product, scope);
  IRMapping operands;
  operands.map(lhs, b.to(b.operand(lhs), b.f32()).tensor());
  operands.map(rhs, b.to(b.operand(rhs), b.f32()).tensor());
  Operation *clone = builder.clone(*product, operands);
  clone->getResult(0).setType(llvm::cast<RankedTensorType>(sums.getType()).clone(b.f32()));
  // Winograd's algorithm comes near the whole numbers: they are rounded to, not cut off.
  sums.replaceAllUsesWith(b.to(b.round(b.operand(clone->getResult(0))), b.i32()).tensor());
  product->erase();
  return true;
}

} // namespace ptc
