//===- Literal.cpp - small constants, from bytes and to bytes ------------------===//

#include "compiler/import/onnx/Builder.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace ptc::import::onnx {

std::optional<DType> dtypeOfType(Type element) {
  for (unsigned i = 0; i <= unsigned(kLastDType); ++i)
    if (toType(DType(i), element.getContext()) == element)
      return DType(i);
  return std::nullopt;
}

static double toDouble(Type element, uint64_t bits) {
  auto type = cast<FloatType>(element);
  llvm::APFloat value(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits));
  bool loses;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.convertToDouble();
}

static uint64_t toBits(Type element, double number) {
  auto type = cast<FloatType>(element);
  llvm::APFloat value(number);
  bool loses;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return value.bitcastToAPInt().getZExtValue();
}

Expression roundTo(const Expression &number, Type element) {
  bool isReal = number.kind == Expression::Real;
  if (!isReal && number.kind != Expression::Integer && number.kind != Expression::Boolean)
    return number;
  if (isa<FloatType>(element)) {
    double value = isReal ? number.real : double(number.integer);
    return Expression::makeReal(toDouble(element, toBits(element, value)));
  }
  if (element.isInteger(1))
    return Expression(int64_t(isReal ? number.real != 0 : number.integer != 0));
  int64_t value = number.integer;
  if (isReal)
    value = std::isnan(number.real)      ? 0
            : number.real >= 0x1p63      ? INT64_MAX
            : number.real <= -0x1p63     ? INT64_MIN
                                         : int64_t(number.real);
  auto type = dyn_cast<IntegerType>(element);
  if (!type || type.getWidth() >= 64)
    return Expression(value);
  unsigned shift = 64 - type.getWidth();
  uint64_t high = uint64_t(value) << shift;
  return Expression(type.isUnsigned() ? int64_t(high >> shift) : int64_t(high) >> shift);
}

std::optional<Literal> decodeLiteral(const StoredTensor &stored, MLIRContext *context, int64_t most) {
  int64_t count = 1;
  for (int64_t size : stored.sizes)
    count = llvm::MulOverflow(count, size, count) ? INT64_MAX : count;
  if (count > most)
    return std::nullopt;
  Literal literal{toType(*stored.dtype, context), Ints(stored.sizes.begin(), stored.sizes.end()), {}};
  if (isa<ComplexType>(literal.element))
    return std::nullopt;
  unsigned width = byteSize(*stored.dtype);
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, stored.bytes.data() + i * width, width);
    if (isa<FloatType>(literal.element)) {
      literal.elements.push_back(Expression::makeReal(toDouble(literal.element, bits)));
      continue;
    }
    if (*stored.dtype == DType::UInt64 && bits > uint64_t(INT64_MAX))
      return std::nullopt;
    literal.elements.push_back(roundTo(Expression(int64_t(bits)), literal.element));
  }
  return literal;
}

std::optional<StoredTensor> encodeLiteral(const Literal &literal, WeightStore &weights) {
  StoredTensor stored;
  stored.dtype = dtypeOfType(literal.element);
  if (!stored.dtype)
    return std::nullopt;
  unsigned width = byteSize(*stored.dtype);
  auto bytes = std::make_shared<std::vector<char>>(literal.elements.size() * width);
  for (auto [i, element] : llvm::enumerate(literal.elements)) {
    bool isReal = element.kind == Expression::Real;
    if (!isReal && element.kind != Expression::Integer && element.kind != Expression::Boolean)
      return std::nullopt;
    uint64_t bits = isa<FloatType>(literal.element)
                        ? toBits(literal.element, isReal ? element.real : double(element.integer))
                        : uint64_t(isReal ? int64_t(element.real) : element.integer);
    std::memcpy(bytes->data() + i * width, &bits, width);
  }
  stored.sizes.assign(literal.sizes.begin(), literal.sizes.end());
  stored.strides.resize(stored.sizes.size());
  int64_t stride = 1;
  for (size_t i = stored.sizes.size(); i-- > 0; stride *= std::max<int64_t>(stored.sizes[i], 1))
    stored.strides[i] = stride;
  stored.bytes = *bytes;
  weights.keep(std::move(bytes));
  return stored;
}

} // namespace ptc::import::onnx
