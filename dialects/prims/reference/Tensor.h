//===- Tensor.h - tensors of the reference evaluator ----------------------===//
//
// Exact or better than the type asks for: floating-point elements are doubles,
// integers and bools int64_t (already wrapped to their width), complex numbers
// pairs of doubles. Row-major.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/Error.h"

#include <complex>
#include <vector>

namespace ptc::prims {

using Complex = std::complex<double>;
using Sizes = llvm::SmallVector<int64_t, 4>;

int64_t countElements(llvm::ArrayRef<int64_t> shape);
/// Row-major strides, in elements.
Sizes stridesOf(llvm::ArrayRef<int64_t> shape);

/// The value an integer type holds after wrapping around.
int64_t wrap(int64_t value, mlir::Type element);
/// The nearest value of a floating-point type.
double roundTo(double value, mlir::Type element);

struct Tensor {
  mlir::Type element;
  Sizes shape;
  // The one that fits the element type; the others are empty.
  std::vector<double> reals;
  std::vector<int64_t> integers;
  std::vector<Complex> complexes;

  Tensor() = default;
  /// Zeros.
  Tensor(mlir::Type element, llvm::ArrayRef<int64_t> shape);

  int64_t count() const { return countElements(shape); }

  /// Calls f with the vector in use.
  template <typename F> auto visit(F f) const {
    if (!reals.empty() || llvm::isa<mlir::FloatType>(element))
      return f(reals);
    return llvm::isa<mlir::ComplexType>(element) ? f(complexes) : f(integers);
  }
  template <typename F> auto visit(F f) {
    if (!reals.empty() || llvm::isa<mlir::FloatType>(element))
      return f(reals);
    return llvm::isa<mlir::ComplexType>(element) ? f(complexes) : f(integers);
  }

  /// From and to the bytes that the element type has in memory.
  static llvm::Expected<Tensor> fromBytes(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                                          llvm::ArrayRef<char> bytes);
  std::vector<char> toBytes() const;

  /// Rounds every element to what the element type can hold.
  void round();

  template <typename T> std::vector<T> &as() {
    if constexpr (std::is_same_v<T, double>)
      return reals;
    else if constexpr (std::is_same_v<T, int64_t>)
      return integers;
    else
      return complexes;
  }
};

/// result[i...] = x[offset + sum(i * strides)]: every view of a tensor.
Tensor readStrided(const Tensor &x, llvm::ArrayRef<int64_t> shape, int64_t offset, llvm::ArrayRef<int64_t> strides);
Tensor permute(const Tensor &x, llvm::ArrayRef<int64_t> permutation);

/// Counts through the indices of a shape in row-major order.
class IndexCounter {
public:
  explicit IndexCounter(llvm::ArrayRef<int64_t> shape) : shape(shape), index(shape.size(), 0) {
    done = countElements(shape) == 0;
  }
  explicit operator bool() const { return !done; }
  llvm::ArrayRef<int64_t> operator*() const { return index; }
  void operator++() {
    for (size_t i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i])
        return;
      index[i] = 0;
    }
    done = true;
  }

private:
  Sizes shape, index;
  bool done;
};

} // namespace ptc::prims
