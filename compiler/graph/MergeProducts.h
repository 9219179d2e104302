//===- MergeProducts.h - one product by several weights -------------------===//
//
// Before: several products of one tensor by constant matrices, as queries, keys
//         and values are of a layer's input.
// After:  one product by the matrices side by side; who read a result reads a
//         slice of its columns.
//
// Only results that are read by way of views are merged: arithmetic behind a
// product is better part of its kernel, and may take another's result with it.
//
//===----------------------------------------------------------------------===//
#pragma once

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace ptc {

std::unique_ptr<mlir::Pass> createMergeProductsPass();

} // namespace ptc
