// RUN: not ptc-opt --ptc-decompose %s 2>&1 | FileCheck %s
// Every operation that has no decomposition is reported, not only the first.

// CHECK: error: operator aten.nonzero.default is not supported
// CHECK: note: the size of its result depends on data
// CHECK: error: operator aten.rand_like.default is not supported
// CHECK: note: it needs random numbers
// CHECK: error: operator aten.dropout.default is not supported
// CHECK: note: in training mode it needs random numbers: export the model after model.eval()
func.func @forward(%x: tensor<4xf32>) -> (tensor<4x1xi64>, tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.nonzero.default %x : (tensor<4xf32>) -> tensor<4x1xi64>
  %1 = aten.rand_like.default %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.dropout.default %x {p = 0.5 : f64, train = true} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4x1xi64>, tensor<4xf32>, tensor<4xf32>
}
