// RUN: not ptc-opt --ptc-decompose %s 2>&1 | FileCheck %s
// Every operation that has no decomposition is reported, not only the first.

// CHECK: error: operator aten.nonzero.default is not supported
// CHECK: note: the size of its result depends on data
// CHECK: error: operator aten._standard_gamma.default is not supported
// CHECK: note: its distribution of random numbers is not among those that ptc draws
// CHECK: error: operator aten.random.from is not supported
// CHECK: note: give the end of the range, too
func.func @forward(%x: tensor<4xf32>) -> (tensor<4x1xi64>, tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.nonzero.default %x : (tensor<4xf32>) -> tensor<4x1xi64>
  %1 = aten._standard_gamma.default %x : (tensor<4xf32>) -> tensor<4xf32>
  %2 = aten.random.from %x {from = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4x1xi64>, tensor<4xf32>, tensor<4xf32>
}
