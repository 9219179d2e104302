//===- FloatProducts.h - products of whole numbers in float32 -------------===//
//
// Before: a convolution or a contraction of bytes less their zero points, whose
//         sums are whole numbers.
// After:  it multiplies and adds up in float32, which has every whole number
//         up to 2^24, and the sums are whole numbers again.
//
// No sum of a contraction exceeds that up to some 256 terms, or twice as many
// where one operand is of signed bytes. A longer one, and any convolution (whose
// kernel may compute with fractions), is float32 where its sums are read as
// float32 alone: what is beyond 2^24 is rounded then.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace mlir {
class Operation;
}

namespace ptc {

/// Answers whether the product was one of bytes; it is gone then.
bool multiplyInFloat(mlir::Operation *product);

} // namespace ptc
