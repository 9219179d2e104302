#include "compiler/graph/Quantize.h"

#include "compiler/graph/ConstantValues.h"
#include "compiler/graph/IntegerProducts.h"
#include "compiler/graph/decompose/Builder.h"
#include "compiler/weights/WeightStore.h"
#include "dialects/prims/Prims.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace ptc {

using decompose::B;
using decompose::T;

namespace {

/// Smaller matrices gain nothing, and fill no panel of a kernel.
constexpr int64_t kLeastColumns = 16, kLeastTerms = 16;
constexpr double kLargest = 127;

/// A matrix as int8 [as it lay], with what a column is multiplied by, and the sum of what it holds.
struct QuantizedMatrix {
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<int32_t> sums;
  double error; ///< relative, root of the mean square

  int64_t bytes() const { return values.size() + scales.size() * sizeof(float); }
};

/// Symmetric, a scale for each column; `terms` along k with stride `kStride`, columns with `columnStride`.
QuantizedMatrix quantize(ArrayRef<float> matrix, int64_t terms, int64_t kStride, int64_t columns,
                         int64_t columnStride) {
  QuantizedMatrix result{std::vector<int8_t>(matrix.size()), std::vector<float>(columns), std::vector<int32_t>(columns),
                         0};
  double lost = 0, all = 0;
  for (int64_t column = 0; column < columns; ++column) {
    const float *from = matrix.data() + column * columnStride;
    float most = 0;
    for (int64_t i = 0; i < terms; ++i)
      most = std::max(most, std::fabs(from[i * kStride]));
    float scale = most / float(kLargest);
    result.scales[column] = scale;
    for (int64_t i = 0; i < terms; ++i) {
      double value = from[i * kStride], quotient = scale > 0 ? std::nearbyint(value / scale) : 0;
      auto rounded = int8_t(std::clamp(quotient, -kLargest, kLargest));
      result.values[column * columnStride + i * kStride] = rounded;
      result.sums[column] += rounded;
      double error = value - double(rounded) * scale;
      lost += error * error;
      all += value * value;
    }
  }
  result.error = all > 0 ? std::sqrt(lost / all) : 0;
  return result;
}

/// The arguments that stand for one quantized matrix.
struct Arguments {
  Value values, scales, sums;
};

class Quantizer {
public:
  Quantizer(func::FuncOp function, WeightStore &weights, Quantization kind, SmallVectorImpl<Attribute> &records)
      : function(function), weights(weights), kind(kind), records(records) {}
  void run();

private:
  bool isFit(prims::ContractOp op);
  Arguments argumentsOf(prims::ContractOp op);
  template <class Number>
  Value addWeight(StringRef key, ArrayRef<int64_t> shape, ArrayRef<Number> values, Type element);
  void replace(prims::ContractOp op);

  func::FuncOp function;
  WeightStore &weights;
  Quantization kind;
  SmallVectorImpl<Attribute> &records;
  DenseMap<std::pair<Value, int64_t>, Arguments> known; ///< by weight and the dimension that is summed over
};

struct QuantizePass : PassWrapper<QuantizePass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuantizePass)
  QuantizePass(WeightStore &weights, Quantization kind) : weights(weights), kind(kind) {}
  StringRef getArgument() const override { return "quantize"; }
  StringRef getDescription() const override { return "weights of linear layers in eight bits"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<prims::PrimsDialect>(); }

  void runOnOperation() override {
    SmallVector<Attribute> records;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Quantizer(function, weights, kind, records).run();
    getOperation()->setAttr("ptc.quantized", ArrayAttr::get(&getContext(), records));
  }

  WeightStore &weights;
  Quantization kind;
};

} // namespace

/// A matrix of finite float32 numbers, large enough, that is the right-hand side of a product.
bool Quantizer::isFit(prims::ContractOp op) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()), type = cast<RankedTensorType>(op.getRhs().getType());
  StringRef key = getWeightKey(op.getRhs());
  const Weight *weight = key.empty() ? nullptr : weights.find(key);
  if (!weight || type.getRank() != 2 || !type.getElementType().isF32() || !lhs.getElementType().isF32() ||
      op.getRhsContract().size() != 1)
    return false;
  int64_t k = op.getRhsContract()[0], terms = type.getDimSize(k), columns = type.getDimSize(1 - k);
  if (terms < kLeastTerms || terms > kMostByteProducts || columns < kLeastColumns)
    return false;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    float value;
    std::memcpy(&value, weight->bytes.data() + i * sizeof value, sizeof value);
    if (!std::isfinite(value))
      return false;
  }
  return true;
}

template <class Number>
Value Quantizer::addWeight(StringRef key, ArrayRef<int64_t> shape, ArrayRef<Number> values, Type element) {
  auto type = RankedTensorType::get(shape, element);
  if (!weights.find(key)) {
    const char *bytes = reinterpret_cast<const char *>(values.data());
    weights.add(key, type, std::vector<char>(bytes, bytes + values.size() * sizeof(Number)));
  }
  unsigned index = function.getNumArguments();
  Builder b(function.getContext());
  auto role = b.getDictionaryAttr(b.getNamedAttr("ptc.weight", b.getStringAttr(key)));
  if (failed(function.insertArgument(index, type, role, function.getLoc())))
    llvm_unreachable("a function takes one more argument");
  return function.getArgument(index);
}

Arguments Quantizer::argumentsOf(prims::ContractOp op) {
  int64_t k = op.getRhsContract()[0];
  Arguments &result = known[{op.getRhs(), k}];
  if (result.values)
    return result;
  auto type = cast<RankedTensorType>(op.getRhs().getType());
  std::string key = getWeightKey(op.getRhs()).str(), name = key + ".int8." + std::to_string(k);
  std::vector<float> matrix(type.getNumElements()); // bytes of a file may lie anywhere
  std::memcpy(matrix.data(), weights.find(key)->bytes.data(), matrix.size() * sizeof(float));
  int64_t strides[] = {type.getDimSize(1), 1}, columns = type.getDimSize(1 - k);
  QuantizedMatrix made = quantize(matrix, type.getDimSize(k), strides[k], columns, strides[1 - k]);
  Builder b(function.getContext());
  result.values = addWeight<int8_t>(name, type.getShape(), made.values, b.getIntegerType(8));
  result.scales = addWeight<float>(name + ".scales", columns, made.scales, b.getF32Type());
  if (kind == Quantization::Dynamic) {
    for (int32_t &sum : made.sums)
      sum *= 128;
    result.sums = addWeight<int32_t>(name + ".sums", columns, made.sums, b.getI32Type());
  }
  records.push_back(
      b.getDictionaryAttr({b.getNamedAttr("weight", b.getStringAttr(key)), b.getNamedAttr("type", TypeAttr::get(type)),
                           b.getNamedAttr("bytes", b.getI64IntegerAttr(made.bytes())),
                           b.getNamedAttr("error", b.getF64FloatAttr(made.error)),
                           b.getNamedAttr("loc", cast<Attribute>(LocationAttr(op.getLoc())))}));
  return result;
}

void Quantizer::replace(prims::ContractOp op) {
  Arguments weight = argumentsOf(op);
  OpBuilder builder(op);
  decompose::Scope scope;
  scope.symbols = getSymbols(op);
  B b(builder, op, scope);
  T x = b.operand(op.getLhs()), values = b.operand(weight.values), scales = b.operand(weight.scales);
  auto product = [&](T lhs, T rhs) {
    return b.contract(lhs, rhs, op.getLhsBatch(), op.getRhsBatch(), op.getLhsContract(), op.getRhsContract());
  };
  T result;
  if (kind == Quantization::Weights) {
    result = product(x, b.to(values, b.f32())) * scales;
  } else {
    // Rows of x as bytes 1 ... 255 that stand for -127 ... 127; what the shift by 128 adds to a sum is known.
    int64_t k = op.getLhsContract()[0];
    T most = b.max(b.abs(x), {k}, /*keepdim=*/true);
    T factor = b.where(most > 0.0, kLargest / most, 0.0);
    T shifted = b.to(b.round(x * factor) + 128.0, b.i32());
    T bytes = b.to(shifted, IntegerType::get(b.context(), 8, IntegerType::Unsigned));
    T sums = product(b.to(bytes, b.i32()), b.to(values, b.i32())) - b.operand(weight.sums);
    T rows = b.unsqueeze(b.squeeze(most, k), -1) / kLargest;
    result = b.to(sums, b.f32()) * rows * scales;
  }
  op.getResult().replaceAllUsesWith(result.tensor());
  op.erase();
}

void Quantizer::run() {
  for (auto op : llvm::make_early_inc_range(function.front().getOps<prims::ContractOp>()))
    if (isFit(op))
      replace(op);
}

std::unique_ptr<Pass> createQuantizePass(WeightStore &weights, Quantization kind) {
  return std::make_unique<QuantizePass>(weights, kind);
}

} // namespace ptc
