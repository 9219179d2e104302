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

/// Pipeline name: integer-products. Nothing multiplies bytes unless the machine `multipliesBytes`: elsewhere float32 is
/// faster.
std::unique_ptr<mlir::Pass> createIntegerProductsPass(const WeightStore &weights, bool multipliesBytes);

} // namespace ptc
