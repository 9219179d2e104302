// RUN: not ptc-opt --decompose %s 2>&1 | FileCheck %s
// Every operation that has no decomposition is reported, not only the first.

// CHECK: error: operator aten._pdist_backward.default is not supported
// CHECK: note: a part of a derivative or of another operator, which a model does not call
// CHECK: error: operator aten.linalg_lu_factor.default is not supported
// CHECK: note: a factorization without pivoting is for the GPU
// CHECK: error: operator aten._fused_dropout.default is not supported
// CHECK: note: of autograd and batching, which have left a graph when it is exported
// CHECK: error: operator aten.random.from is not supported
// CHECK: note: give the end of the range, too
func.func @forward(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = aten._pdist_backward.default %x, %x, %x {p = 2.0 : f64} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1:2 = aten.linalg_lu_factor.default %x {pivot = false} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, none)
  %2:2 = aten._fused_dropout.default %x {p = 0.5 : f64} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, none)
  %3 = aten.random.from %x {from = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1#0, %2#0, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
