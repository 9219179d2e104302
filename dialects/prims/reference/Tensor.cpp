#include "dialects/prims/reference/Tensor.h"

#include "dialects/core/TensorBytes.h"
#include "dialects/prims/Elements.h"

#include <cstring>

using namespace mlir;

namespace ptc::prims {

int64_t countElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

Sizes stridesOf(ArrayRef<int64_t> shape) {
  Sizes strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t wrap(int64_t value, Type element) {
  auto type = llvm::cast<IntegerType>(element);
  unsigned unused = 64 - type.getWidth();
  if (type.isUnsigned() || type.getWidth() == 1)
    return int64_t(uint64_t(value) << unused >> unused);
  return int64_t(uint64_t(value) << unused) >> unused;
}

//===----------------------------------------------------------------------===//
// Elements as bytes
//===----------------------------------------------------------------------===//

namespace {

// bf16 is the upper half of an f32, rounded to even.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  BFloat16(double value) {
    float single = float(value);
    uint32_t word;
    std::memcpy(&word, &single, 4);
    bits = single != single ? 0x7fc0 : uint16_t((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
  operator double() const {
    uint32_t word = uint32_t(bits) << 16;
    float single;
    std::memcpy(&single, &word, 4);
    return single;
  }
};

} // namespace

/// Calls f with a null pointer of the C++ type that stores the element.
template <typename F> static auto withStorage(Type element, F f) {
  if (element.isF64())
    return f((double *)nullptr);
  if (element.isF32())
    return f((float *)nullptr);
  if (element.isBF16())
    return f((BFloat16 *)nullptr);
  if (element.isF16())
    return f((_Float16 *)nullptr);
  if (isBool(element) || element.isUnsignedInteger(8))
    return f((uint8_t *)nullptr);
  if (element.isInteger(8))
    return f((int8_t *)nullptr);
  if (element.isInteger(16))
    return f((int16_t *)nullptr);
  if (element.isInteger(32))
    return f((int32_t *)nullptr);
  return f((int64_t *)nullptr);
}

double roundTo(double value, Type element) {
  if (element.isF64())
    return value;
  return withStorage(element, [&](auto *p) { return double(std::decay_t<decltype(*p)>(value)); });
}

Tensor::Tensor(Type element, ArrayRef<int64_t> shape) : element(element), shape(shape) {
  int64_t size = count();
  if (isFloat(element))
    reals.resize(size);
  else if (isComplex(element))
    complexes.resize(size);
  else
    integers.resize(size);
}

llvm::Expected<Tensor> Tensor::fromBytes(Type element, ArrayRef<int64_t> shape, ArrayRef<char> bytes) {
  Tensor result(element, shape);
  if (int64_t(bytes.size()) != result.count() * getElementBytes(element))
    return llvm::createStringError("a tensor has %zu bytes for %lld elements", bytes.size(),
                                   (long long)result.count());
  Type scalar = isComplex(element) ? llvm::cast<ComplexType>(element).getElementType() : element;
  withStorage(scalar, [&](auto *type) {
    using T = std::decay_t<decltype(*type)>;
    auto read = [&](int64_t i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      return value;
    };
    for (int64_t i = 0, n = result.count(); i < n; ++i) {
      if (isFloat(element))
        result.reals[i] = double(read(i));
      else if (isComplex(element))
        result.complexes[i] = {double(read(2 * i)), double(read(2 * i + 1))};
      else
        result.integers[i] = isBool(element) ? int64_t(read(i)) != 0 : wrap(int64_t(read(i)), element);
    }
  });
  return result;
}

std::vector<char> Tensor::toBytes() const {
  std::vector<char> bytes(count() * getElementBytes(element));
  Type scalar = isComplex(element) ? llvm::cast<ComplexType>(element).getElementType() : element;
  withStorage(scalar, [&](auto *type) {
    using T = std::decay_t<decltype(*type)>;
    auto write = [&](int64_t i, auto value) {
      T stored = T(value);
      std::memcpy(bytes.data() + i * sizeof(T), &stored, sizeof(T));
    };
    for (int64_t i = 0, n = count(); i < n; ++i) {
      if (isFloat(element)) {
        write(i, reals[i]);
      } else if (isComplex(element)) {
        write(2 * i, complexes[i].real());
        write(2 * i + 1, complexes[i].imag());
      } else {
        write(i, integers[i]);
      }
    }
  });
  return bytes;
}

void Tensor::round() {
  for (double &value : reals)
    value = roundTo(value, element);
  if (auto complex = llvm::dyn_cast<ComplexType>(element))
    for (Complex &value : complexes)
      value = {roundTo(value.real(), complex.getElementType()), roundTo(value.imag(), complex.getElementType())};
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

Tensor readStrided(const Tensor &x, ArrayRef<int64_t> shape, int64_t offset, ArrayRef<int64_t> strides) {
  Tensor result(x.element, shape);
  if (result.count() == 0)
    return result;
  int64_t inner = shape.empty() ? 1 : shape.back(), step = shape.empty() ? 0 : strides.back();
  x.visit([&](const auto &from) {
    auto &to = result.as<typename std::decay_t<decltype(from)>::value_type>();
    int64_t next = 0;
    for (IndexCounter row(shape.empty() ? shape : shape.drop_back()); row; ++row) {
      int64_t place = offset;
      for (size_t i = 0; i + 1 < shape.size(); ++i)
        place += (*row)[i] * strides[i];
      for (int64_t i = 0; i < inner; ++i, place += step)
        to[next++] = from[place];
    }
  });
  return result;
}

Tensor permute(const Tensor &x, ArrayRef<int64_t> permutation) {
  Sizes from = stridesOf(x.shape), shape, strides;
  for (int64_t dim : permutation) {
    shape.push_back(x.shape[dim]);
    strides.push_back(from[dim]);
  }
  return readStrided(x, shape, 0, strides);
}

} // namespace ptc::prims
