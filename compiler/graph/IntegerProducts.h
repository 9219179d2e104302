//===- IntegerProducts.h - products of quantized tensors are of bytes ------===//
//
// Before: convolutions with channels last, and contractions, of float32 numbers
//         that bytes stand for, (q - zero) * scale, or of the whole numbers
//         q - zero, by weights that are bytes likewise.
// After:  they multiply unsigned by signed bytes and add up whole numbers; what
//         the zero points add to a sum is taken off it, and the scales are
//         multiplied with it. (B. Jacob et al., "Quantization and Training of
//         Neural Networks for Efficient Integer-Arithmetic-Only Inference",
//         2018, section 2.)
//         Products of whole numbers that fit no kernel of bytes are of float32
//         (FloatProducts.h): as such they are faster than as integers.
//
// A sum of whole numbers is exact: results differ from those of float32 by its
// rounding errors.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <memory>

namespace mlir {
class Pass;
}

namespace ptc {
class WeightStore;

/// More products of an unsigned and a signed byte may not fit a sum of 32 bits.
constexpr int64_t kMostByteProducts = 65536;

/// What is faster than the products as they are.
struct ByteProducts {
  bool bytes;  ///< quantized float32 as bytes: the machine multiplies these faster (Target::multipliesBytes)
  bool floats; ///< whole numbers as float32: the device's kernels for these are loops
};

/// Pipeline name: integer-products.
std::unique_ptr<mlir::Pass> createIntegerProductsPass(const WeightStore &weights, ByteProducts kind);

} // namespace ptc
