// RUN: not ptc-opt --ptc-decompose %s 2>&1 | FileCheck %s
// Every operation that has no decomposition is reported, not only the first.

// CHECK: error: operator aten.linalg_eig.default is not supported
// CHECK: note: it has no decomposition yet
// CHECK: error: operator aten.linalg_eigh.default is not supported
// CHECK: note: eigenvectors have signs that follow from how LAPACK computes them: use eigvalsh
func.func @forward(%x: tensor<4x4xf32>) -> (tensor<4xcomplex<f32>>, tensor<4x4xf32>) {
  %1:2 = aten.linalg_eig.default %x : (tensor<4x4xf32>) -> (tensor<4xcomplex<f32>>, none)
  %2:2 = aten.linalg_eigh.default %x {UPLO = "L"} : (tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4x4xf32>)
  return %1#0, %2#1 : tensor<4xcomplex<f32>>, tensor<4x4xf32>
}
