// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Bias and residual join a contraction, although reshapes stand between: its
// rows are cut as the residual has them. The transposed weight is read in place.

// CHECK: loop.kernel "k0_contract"
// CHECK: loop.contract {{.*}} batch 0 m 2 n 1 k array<i64: 12> {
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: -> tensor<2x5x16xf32>
// CHECK: loop.kernel "k1_reduce"
// CHECK-NOT: loop.kernel
func.func @forward(%x: tensor<2x5x12xf32>, %w: tensor<16x12xf32> {ptc.weight = "w"}, %b: tensor<16xf32>, %r: tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<f32>) {
  %0 = prims.reshape %x {sizes = array<i64: 10, 12>} : (tensor<2x5x12xf32>) -> tensor<10x12xf32>
  %1 = prims.transpose %w {permutation = array<i64: 1, 0>} : (tensor<16x12xf32>) -> tensor<12x16xf32>
  %2 = prims.contract %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<10x12xf32>, tensor<12x16xf32>) -> tensor<10x16xf32>
  %3 = prims.broadcast_in_dim %b {sizes = array<i64: 10, 16>, dims = array<i64: 1>} : (tensor<16xf32>) -> tensor<10x16xf32>
  %4 = prims.add %2, %3 : (tensor<10x16xf32>, tensor<10x16xf32>) -> tensor<10x16xf32>
  %5 = prims.reshape %4 {sizes = array<i64: 2, 5, 16>} : (tensor<10x16xf32>) -> tensor<2x5x16xf32>
  %6 = prims.add %5, %r : (tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  %7 = prims.reduce %6 {kind = "sum", dims = array<i64: 0, 1, 2>} : (tensor<2x5x16xf32>) -> tensor<f32>
  return %6, %7 : tensor<2x5x16xf32>, tensor<f32>
}
