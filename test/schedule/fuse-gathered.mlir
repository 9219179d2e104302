// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// A vector times a matrix that an index picks: the matrix is read where it lies,
// not copied first. Matrices that must be picked again are not read again: their
// rows are the outermost loop.

// CHECK-LABEL: @forward
// CHECK: loop.kernel
// CHECK: loop.reduce ["sum"] over array<i64: 16>
// CHECK: loop.checked_index {{.*}} in 4
// CHECK: loop.read {{.*}} : tensor<4x8x16xf32> -> f32
// CHECK: } : tensor<32x8x1xf32>
// CHECK-NOT: loop.kernel
// CHECK-LABEL: @more_vectors_than_matrices
// CHECK: loop.reduce ["sum"] over array<i64: 128>
// CHECK: loop.read {{.*}} : tensor<4x256x128xf32> -> f32
// CHECK: } {inner = 1 : i64} : tensor<32x256x1xf32>
// CHECK-LABEL: @fewer
// CHECK: } : tensor<6x256x1xf32>
func.func @forward(%w: tensor<4x8x16xf32>, %i: tensor<32xi64>, %x: tensor<32x16x1xf32>) -> tensor<32x8x1xf32> {
  %0 = prims.gather %w, %i {dims = array<i64: 0>} : (tensor<4x8x16xf32>, tensor<32xi64>) -> tensor<32x8x16xf32>
  %1 = prims.contract %0, %x {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<32x8x16xf32>, tensor<32x16x1xf32>) -> tensor<32x8x1xf32>
  return %1 : tensor<32x8x1xf32>
}
func.func @more_vectors_than_matrices(%w: tensor<4x256x128xf32>, %i: tensor<32xi64>, %x: tensor<32x128x1xf32>) -> tensor<32x256x1xf32> {
  %0 = prims.gather %w, %i {dims = array<i64: 0>} : (tensor<4x256x128xf32>, tensor<32xi64>) -> tensor<32x256x128xf32>
  %1 = prims.contract %0, %x {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<32x256x128xf32>, tensor<32x128x1xf32>) -> tensor<32x256x1xf32>
  return %1 : tensor<32x256x1xf32>
}
func.func @fewer(%w: tensor<4x256x128xf32>, %i: tensor<6xi64>, %x: tensor<6x128x1xf32>) -> tensor<6x256x1xf32> {
  %0 = prims.gather %w, %i {dims = array<i64: 0>} : (tensor<4x256x128xf32>, tensor<6xi64>) -> tensor<6x256x128xf32>
  %1 = prims.contract %0, %x {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<6x256x128xf32>, tensor<6x128x1xf32>) -> tensor<6x256x1xf32>
  return %1 : tensor<6x256x1xf32>
}
