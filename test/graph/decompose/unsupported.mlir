// RUN: not ptc-opt --ptc-decompose %s 2>&1 | FileCheck %s
// Every operation that has no decomposition is reported, not only the first.

// CHECK: error: operator aten.linalg_eig.default is not supported
// CHECK: note: it has no decomposition yet
// CHECK: error: operator aten.linalg_eigh.default is not supported
// CHECK: note: eigenvectors have signs that follow from how LAPACK computes them: use eigvalsh
// CHECK: error: operator aten._standard_gamma.default is not supported
// CHECK: note: its distribution of random numbers is not among those that ptc draws
// CHECK: error: operator aten.random.from is not supported
// CHECK: note: give the end of the range, too
func.func @forward(%x: tensor<4x4xf32>) -> (tensor<4xcomplex<f32>>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0:2 = aten.linalg_eig.default %x : (tensor<4x4xf32>) -> (tensor<4xcomplex<f32>>, none)
  %1:2 = aten.linalg_eigh.default %x {UPLO = "L"} : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>)
  %2 = aten._standard_gamma.default %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = aten.random.from %x {from = 2 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0#0, %1#1, %2, %3 : tensor<4xcomplex<f32>>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
