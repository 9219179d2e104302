// RUN: ptc-opt --simplify %s | FileCheck %s

#batch = affine_map<()[s0] -> (s0, 6, 3)>
#products = affine_map<()[s0] -> (s0, 6, 4)>
#turned = affine_map<()[s0] -> (s0, 4, 6)>
#sums = affine_map<()[s0] -> (s0, 4)>
module attributes {ptc.symbols = [{name = "s0", min = 1, max = 64}]} {
// A network of weights that an export has repeated for each sequence is computed once, up to what differs.
// CHECK-LABEL: @repeated
func.func @repeated(%table: tensor<1x6x3xf32>, %w: tensor<4x3xf32>, %bias: tensor<4xf32>, %x: tensor<?x4xf32, #sums>)
    -> tensor<?x4xf32, #sums> {
  // CHECK: %[[PRODUCT:.*]] = prims.contract %arg0, %arg1 {{.*}} -> tensor<1x6x4xf32>
  // CHECK: %[[SUM:.*]] = prims.add %[[PRODUCT]]
  // CHECK: %[[ONE:.*]] = prims.reshape %[[SUM]] {{.*}} -> tensor<6x4xf32>
  // CHECK: %[[TURNED:.*]] = prims.transpose %[[ONE]] {permutation = array<i64: 1, 0>}
  // CHECK: %[[MOST:.*]] = prims.reduce %[[TURNED]] {dims = array<i64: 1>, kind = "max"} {{.*}} -> tensor<4xf32>
  // CHECK: %[[ALL:.*]] = prims.broadcast_in_dim %[[MOST]] {dims = array<i64: 1>
  // CHECK: prims.add %arg3, %[[ALL]]
  %0 = prims.broadcast_in_dim %table {dims = array<i64: 0, 1, 2>, sizes = #batch} : (tensor<1x6x3xf32>) -> tensor<?x6x3xf32, #batch>
  %1 = prims.contract %0, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<?x6x3xf32, #batch>, tensor<4x3xf32>) -> tensor<?x6x4xf32, #products>
  %2 = prims.broadcast_in_dim %bias {dims = array<i64: 2>, sizes = #products} : (tensor<4xf32>) -> tensor<?x6x4xf32, #products>
  %3 = prims.add %1, %2 : (tensor<?x6x4xf32, #products>, tensor<?x6x4xf32, #products>) -> tensor<?x6x4xf32, #products>
  %4 = prims.transpose %3 {permutation = array<i64: 0, 2, 1>} : (tensor<?x6x4xf32, #products>) -> tensor<?x4x6xf32, #turned>
  %5 = prims.reduce %4 {kind = "max", dims = array<i64: 2>} : (tensor<?x4x6xf32, #turned>) -> tensor<?x4xf32, #sums>
  %6 = prims.add %x, %5 : (tensor<?x4xf32, #sums>, tensor<?x4xf32, #sums>) -> tensor<?x4xf32, #sums>
  return %6 : tensor<?x4xf32, #sums>
}

// A sum over what is repeated counts it as often, and a batch of products has a partner for each.
// CHECK-LABEL: @counted
func.func @counted(%x: tensor<1x3xf32>, %y: tensor<5x3x2xf32>) -> (tensor<3xf32>, tensor<5x2xf32>) {
  // CHECK: %[[ALL:.*]] = prims.broadcast_in_dim %arg0 {{.*}} -> tensor<5x3xf32>
  // CHECK: prims.reduce %[[ALL]] {dims = array<i64: 0>
  // CHECK: prims.contract %[[ALL]], %arg1
  %0 = prims.broadcast_in_dim %x {dims = array<i64: 0, 1>, sizes = array<i64: 5, 3>} : (tensor<1x3xf32>) -> tensor<5x3xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<5x3xf32>) -> tensor<3xf32>
  %2 = prims.contract %0, %y {lhs_batch = array<i64: 0>, rhs_batch = array<i64: 0>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<5x3xf32>, tensor<5x3x2xf32>) -> tensor<5x2xf32>
  return %1, %2 : tensor<3xf32>, tensor<5x2xf32>
}

// Both operands have dimensions of their own.
// CHECK-LABEL: @outer
func.func @outer(%x: tensor<3xf32>, %y: tensor<3x1xf32>) -> tensor<4x6x7xf32> {
  // CHECK: %[[Y:.*]] = prims.reshape %arg1 {{.*}} -> tensor<3xf32>
  // CHECK: %[[ONE:.*]] = prims.contract %arg0, %[[Y]] {{.*}} -> tensor<f32>
  // CHECK: prims.broadcast_in_dim %[[ONE]] {dims = array<i64>, sizes = array<i64: 4, 6, 7>}
  %0 = prims.broadcast_in_dim %x {dims = array<i64: 1>, sizes = array<i64: 4, 3, 6>} : (tensor<3xf32>) -> tensor<4x3x6xf32>
  %1 = prims.broadcast_in_dim %y {dims = array<i64: 0, 1>, sizes = array<i64: 3, 7>} : (tensor<3x1xf32>) -> tensor<3x7xf32>
  %2 = prims.contract %0, %1 {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x3x6xf32>, tensor<3x7xf32>) -> tensor<4x6x7xf32>
  return %2 : tensor<4x6x7xf32>
}
}
