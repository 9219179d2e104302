// RUN: ptc-opt %s --simplify | FileCheck %s
// Reshapes merge, cancel, and stand behind what can do without them.

// CHECK-LABEL: @view_linear_view
// CHECK: prims.contract %{{.*}} -> tensor<2x5x3xf32>
// CHECK-NOT: prims.reshape
func.func @view_linear_view(%x: tensor<2x5x8xf32>, %w: tensor<3x8xf32>, %bias: tensor<3xf32>) -> tensor<2x5x3xf32> {
  %0 = prims.reshape %x {sizes = array<i64: 10, 8>} : (tensor<2x5x8xf32>) -> tensor<10x8xf32>
  %t = prims.transpose %w {permutation = array<i64: 1, 0>} : (tensor<3x8xf32>) -> tensor<8x3xf32>
  %1 = prims.contract %0, %t {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<10x8xf32>, tensor<8x3xf32>) -> tensor<10x3xf32>
  %2 = prims.broadcast_in_dim %bias {sizes = array<i64: 10, 3>, dims = array<i64: 1>} : (tensor<3xf32>) -> tensor<10x3xf32>
  %3 = prims.add %1, %2 : (tensor<10x3xf32>, tensor<10x3xf32>) -> tensor<10x3xf32>
  %4 = prims.reshape %3 {sizes = array<i64: 2, 5, 3>} : (tensor<10x3xf32>) -> tensor<2x5x3xf32>
  return %4 : tensor<2x5x3xf32>
}

// CHECK-LABEL: @heads
// CHECK-NOT: prims.reshape
// CHECK: prims.contract {{.*}}lhs_batch = array<i64: 0, 1>
func.func @heads(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x8x7xf32>) -> tensor<2x4x5x7xf32> {
  %0 = prims.reshape %q {sizes = array<i64: 8, 5, 8>} : (tensor<2x4x5x8xf32>) -> tensor<8x5x8xf32>
  %1 = prims.reshape %k {sizes = array<i64: 8, 8, 7>} : (tensor<2x4x8x7xf32>) -> tensor<8x8x7xf32>
  %2 = prims.contract %0, %1 {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<8x5x8xf32>, tensor<8x8x7xf32>) -> tensor<8x5x7xf32>
  %3 = prims.reshape %2 {sizes = array<i64: 2, 4, 5, 7>} : (tensor<8x5x7xf32>) -> tensor<2x4x5x7xf32>
  return %3 : tensor<2x4x5x7xf32>
}

// CHECK-LABEL: @symbolic
// CHECK-NEXT: prims.neg
// CHECK-NEXT: prims.exp
// CHECK-NEXT: return
func.func @symbolic(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {
  %e = prims.neg %x : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  %0 = prims.reshape %e {sizes = affine_map<()[s0] -> (s0 * 8)>} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>
  %1 = prims.exp %0 : (tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>
  %2 = prims.reshape %1 {sizes = affine_map<()[s0] -> (s0, 8)>} : (tensor<?xf32, affine_map<()[s0] -> (s0 * 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
  return %2 : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>
}
