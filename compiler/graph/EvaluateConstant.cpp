//===- EvaluateConstant.cpp - prims on constants --------------------------===//

#include "compiler/graph/ConstantView.h"

#include "dialects/prims/Prims.h"
#include "dialects/prims/reference/Evaluate.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace ptc::prims;

namespace ptc {

using Views = llvm::SmallVector<ConstantView>;

static RankedTensorType typeOf(Operation *op, unsigned i = 0) {
  return llvm::cast<RankedTensorType>(op->getResult(i).getType());
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// The result as a view of the operand, if it can be one.
static std::optional<ConstantView> viewOperand(Operation *op, const ConstantView &x) {
  ConstantView result = x;
  result.type = typeOf(op);
  if (llvm::isa<ReshapeOp>(op)) {
    ConstantView dense = x.isContiguous() ? x : ConstantView::ofBytes(x.type, x.materialize());
    result = ConstantView::ofBytes(typeOf(op), dense.data);
    result.offset = dense.offset;
    result.owner = dense.owner;
    return result;
  }
  if (auto transpose = llvm::dyn_cast<TransposeOp>(op)) {
    for (auto [i, dim] : llvm::enumerate(transpose.getPermutation()))
      result.strides[i] = x.strides[dim];
    return result;
  }
  if (auto broadcast = llvm::dyn_cast<BroadcastInDimOp>(op)) {
    result.strides.assign(result.type.getRank(), 0);
    for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
      result.strides[dim] = x.type.getDimSize(i) == 1 ? 0 : x.strides[i];
    return result;
  }
  if (auto slice = llvm::dyn_cast<SliceOp>(op)) {
    ArrayRef<int64_t> starts = llvm::cast<DenseI64ArrayAttr>(slice.getStarts()).asArrayRef();
    for (auto [i, stride] : llvm::enumerate(result.strides)) {
      result.offset += starts[i] * stride;
      stride *= slice.getStrides()[i];
    }
    return result;
  }
  if (auto reverse = llvm::dyn_cast<ReverseOp>(op)) {
    for (int64_t dim : reverse.getDims()) {
      result.offset += std::max<int64_t>(x.type.getDimSize(dim) - 1, 0) * result.strides[dim];
      result.strides[dim] = -result.strides[dim];
    }
    return result;
  }
  return std::nullopt;
}

/// x with a value around it, where nothing is cropped and nothing stands between its elements.
static std::optional<ConstantView> padOperand(PadOp op, const ConstantView &x, const ConstantView &value) {
  ArrayRef<int64_t> low = llvm::cast<DenseI64ArrayAttr>(op.getLow()).asArrayRef();
  ArrayRef<int64_t> high = llvm::cast<DenseI64ArrayAttr>(op.getHigh()).asArrayRef();
  auto isPositive = [](int64_t n) { return n > 0; };
  auto isNegative = [](int64_t n) { return n < 0; };
  RankedTensorType type = typeOf(op);
  if (llvm::any_of(op.getInterior(), isPositive) || llvm::any_of(low, isNegative) || llvm::any_of(high, isNegative) ||
      low.empty())
    return std::nullopt;
  std::vector<char> element = value.materialize(), from = x.materialize();
  std::vector<char> bytes(type.getNumElements() * element.size());
  if (llvm::any_of(element, [](char c) { return c != 0; }))
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = element[i % element.size()];
  SmallVector<int64_t> shape(x.type.getShape());
  int64_t row = std::exchange(shape.back(), 1) * element.size();
  const char *next = from.data();
  for (IndexCounter i(shape); row && i; ++i, next += row) {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      place = place * type.getDimSize(d) + low[d] + (*i)[d];
    std::memcpy(bytes.data() + place * element.size(), next, row);
  }
  return ConstantView::ofBytes(type, std::move(bytes));
}

//===----------------------------------------------------------------------===//
// f32 arithmetic
//===----------------------------------------------------------------------===//

/// One float of each operand (the same one twice for one operand).
using FloatFunction = float (*)(float, float);

static FloatFunction getFloatFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, FloatFunction>(op)
      .Case([](AddOp) { return [](float x, float y) { return x + y; }; })
      .Case([](SubOp) { return [](float x, float y) { return x - y; }; })
      .Case([](MulOp) { return [](float x, float y) { return x * y; }; })
      .Case([](DivOp) { return [](float x, float y) { return x / y; }; })
      .Case([](NegOp) { return [](float x, float) { return -x; }; })
      .Case([](SqrtOp) { return [](float x, float) { return std::sqrt(x); }; })
      .Case([](RsqrtOp) { return [](float x, float) { return float(1.0 / std::sqrt(double(x))); }; })
      .Case([](ReciprocalOp) { return [](float x, float) { return 1.0f / x; }; })
      .Default([](Operation *) -> FloatFunction { return nullptr; });
}

static ConstantView computeFloats(FloatFunction f, RankedTensorType type, ArrayRef<ConstantView> operands) {
  std::vector<char> bytes(type.getNumElements() * sizeof(float));
  const ConstantView &x = operands.front(), &y = operands.back();
  SmallVector<int64_t> shape(type.getShape()), xStrides(x.strides), yStrides(y.strides);
  collapseDims(shape, {&xStrides, &yStrides});
  int64_t count = shape.empty() ? 1 : std::exchange(shape.back(), 1);
  int64_t xStep = xStrides.empty() ? 0 : xStrides.back(), yStep = yStrides.empty() ? 0 : yStrides.back();
  auto read = [](const ConstantView &view, int64_t place) {
    float value;
    std::memcpy(&value, view.data + (view.offset + place) * sizeof(float), sizeof(float));
    return value;
  };
  char *next = bytes.data();
  for (IndexCounter i(shape); count && i; ++i) {
    int64_t xPlace = 0, yPlace = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      xPlace += (*i)[d] * xStrides[d];
      yPlace += (*i)[d] * yStrides[d];
    }
    for (int64_t k = 0; k < count; ++k, xPlace += xStep, yPlace += yStep, next += sizeof(float)) {
      float value = f(read(x, xPlace), read(y, yPlace));
      std::memcpy(next, &value, sizeof(float));
    }
  }
  return ConstantView::ofBytes(type, std::move(bytes));
}

//===----------------------------------------------------------------------===//
// The reference
//===----------------------------------------------------------------------===//

static llvm::Expected<Views> evaluateByReference(Operation *op, ArrayRef<ConstantView> operands) {
  std::vector<Tensor> tensors;
  std::vector<const Tensor *> pointers;
  for (const ConstantView &operand : operands) {
    auto tensor = Tensor::fromBytes(operand.type.getElementType(), operand.type.getShape(), operand.materialize());
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  for (const Tensor &tensor : tensors)
    pointers.push_back(&tensor);
  auto results = evaluate(op, pointers);
  if (!results)
    return results.takeError();
  Views views;
  for (auto [i, result] : llvm::enumerate(*results))
    views.push_back(ConstantView::ofBytes(typeOf(op, i), result.toBytes()));
  return views;
}

/// A full is one element with strides 0.
static llvm::Expected<Views> evaluateFull(FullOp op) {
  auto element = evaluateElement(op, {});
  if (!element)
    return element.takeError();
  ConstantView view = ConstantView::ofBytes(op.getType(), element->toBytes());
  view.strides.assign(op.getType().getRank(), 0);
  return Views{view};
}

llvm::Expected<Views> evaluateConstant(Operation *op, ArrayRef<ConstantView> operands) {
  if (auto full = llvm::dyn_cast<FullOp>(op))
    return evaluateFull(full);
  if (operands.size() == 1)
    if (auto view = viewOperand(op, operands[0]))
      return Views{*view};
  if (auto pad = llvm::dyn_cast<PadOp>(op))
    if (auto padded = padOperand(pad, operands[0], operands[1]))
      return Views{*padded};
  bool floats = llvm::all_of(operands, [](const ConstantView &v) { return v.type.getElementType().isF32(); });
  if (FloatFunction f = floats ? getFloatFunction(op) : nullptr)
    return Views{computeFloats(f, typeOf(op), operands)};
  return evaluateByReference(op, operands);
}

} // namespace ptc
