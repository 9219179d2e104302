#include "compiler/import/Fits.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using llvm::StringRef;

namespace ptc::import {

std::optional<size_t> countKeptDims(const aten::Schema &schema) {
  if (schema.has(aten::Mark::Pointwise))
    return 0;
  return schema.baseName() == "matmul" ? std::optional<size_t>(2) : std::nullopt;
}

void forEachEquality(const aten::Schema &schema, llvm::ArrayRef<Value> operands, VisitSizes require,
                     VisitSizes broadcast) {
  StringRef name = schema.baseName();
  auto broadcastAll = [&](ShapeRef x, ShapeRef y) {
    for (auto [a, b] : llvm::zip(llvm::reverse(x), llvm::reverse(y)))
      if (getConstant(a) != 1 && getConstant(b) != 1)
        broadcast(a, b);
  };
  for (size_t i = 1; i < operands.size(); ++i) {
    if (!operands[0] || !operands[i])
      continue;
    Shape x = getShape(operands[0]), y = getShape(operands[i]);
    if (schema.has(aten::Mark::Pointwise)) {
      for (size_t k = 0; k < i; ++k)
        if (operands[k])
          broadcastAll(getShape(operands[k]), y);
    } else if (name == "matmul" && !x.empty() && !y.empty()) {
      require(x.back(), y.size() > 1 ? y[y.size() - 2] : y.back());
      if (x.size() > 2 && y.size() > 2)
        broadcastAll(ShapeRef(x).drop_back(2), ShapeRef(y).drop_back(2));
    } else if (name == "linear" && i == 1 && !x.empty() && !y.empty()) {
      require(x.back(), y.back());
    }
  }
}

static std::optional<int64_t> findDim(const aten::AtenOp &op, size_t rank) {
  auto dim = op.optionalInt("dim");
  if (!dim || *dim < -int64_t(rank) || *dim >= int64_t(rank))
    return std::nullopt;
  return *dim < 0 ? *dim + int64_t(rank) : *dim;
}

void forEachAssumption(const aten::AtenOp &op, llvm::function_ref<void(StringRef, AffineExpr, AffineExpr)> assume) {
  auto require = [&](AffineExpr a, AffineExpr b) {
    if (!isEqual(a, b))
      assume("Eq", a, b);
  };
  SmallVector<Value> operands(op->getOperands());
  forEachEquality(op.schema(), operands, require, require);
  StringRef name = op.schema().baseName();
  name.consume_back("_copy");
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op.result().getType()) : RankedTensorType();
  const aten::Argument *self = op.schema().find("self");
  if (!type || !self || !self->isTensor() || self->isList || !op.tensor("self"))
    return;
  MLIRContext *context = type.getContext();
  Shape from = getShape(op.tensor("self")), to = getShape(type);
  bool isRegrouped = llvm::is_contained({"view", "_unsafe_view", "reshape", "unflatten"}, name);
  if (isRegrouped && !op.hasArgument("dtype")) {
    require(product(from, context), product(to, context));
    // Of a dimension that is asked for as -1 the others must tell.
    Shape others = op.symInts(name == "unflatten" ? "sizes" : name == "reshape" ? "shape" : "size");
    size_t count = others.size();
    llvm::erase_if(others, [](AffineExpr size) { return getConstant(size) == -1; });
    AffineExpr known = product(others, context);
    if (others.size() < count && !getConstant(known))
      assume("Ne", known, getAffineConstantExpr(0, context));
  }
  if (llvm::is_contained({"expand", "expand_as", "broadcast_to"}, name))
    for (auto [a, b] : llvm::zip(llvm::reverse(from), llvm::reverse(to)))
      if (getConstant(a) != 1)
        require(a, b);
  auto dim = op.hasArgument("dim") ? findDim(op, from.size()) : std::nullopt;
  // PyTorch leaves out a dimension that is 1 when the model runs; the result's type has it.
  if (name == "squeeze" && to.size() <= from.size())
    for (auto [i, size] : llvm::enumerate(from)) {
      auto dims = op.hasArgument("dim") ? op.optionalInts("dim") : std::nullopt;
      bool isMeant = !op.hasArgument("dim") || dim == int64_t(i) ||
                     (dims && (llvm::is_contained(*dims, int64_t(i)) ||
                               llvm::is_contained(*dims, int64_t(i) - int64_t(from.size()))));
      if (isMeant && !getConstant(size))
        assume("Ne", size, getAffineConstantExpr(1, context));
    }
  auto start = op.name() == "slice.Tensor"
                   ? getConstant(op.symInt("start") ? op.symInt("start") : getAffineConstantExpr(0, context))
                   : std::nullopt;
  auto step = start ? op.optionalInt("step") : std::nullopt;
  if (dim && start && step && *start >= 0 && to.size() == from.size() && getConstant(to[*dim]) != 0 &&
      !isEqual(to[*dim], from[*dim]))
    assume("Le", (to[*dim] - 1) * *step + (*start + 1), from[*dim]);
}

} // namespace ptc::import
