// RUN: ptc-opt %s --merge-products | FileCheck %s
// Queries, keys and values are columns of one product by their weights side by side; biases stand side by side too.

// CHECK-LABEL: @attention
// CHECK: %[[W:.*]] = prims.concatenate %arg1, %arg2, %arg3 {dim = 0 : i64}
// CHECK: %[[P:.*]] = prims.contract %arg0, %[[W]] {{.*}} -> tensor<2x5x12xf32>
// CHECK: %[[C:.*]] = prims.concatenate %arg4, %arg5, %arg6 {dim = 0 : i64}
// CHECK: %[[B:.*]] = prims.broadcast_in_dim %[[C]] {dims = array<i64: 2>
// CHECK: %[[S:.*]] = prims.add %[[P]], %[[B]]
// CHECK: %[[R:.*]] = prims.convert %[[S]] {dtype = f16}
// CHECK: %[[Q:.*]] = prims.slice %[[R]] {limits = array<i64: 2, 5, 8>, starts = array<i64: 0, 0, 0>
// CHECK: %[[K:.*]] = prims.slice %[[R]] {limits = array<i64: 2, 5, 10>, starts = array<i64: 0, 0, 8>
// CHECK: %[[V:.*]] = prims.slice %[[R]] {limits = array<i64: 2, 5, 12>, starts = array<i64: 0, 0, 10>
// CHECK-DAG: prims.transpose %[[Q]]
// CHECK-DAG: prims.transpose %[[K]]
// CHECK-DAG: prims.transpose %[[V]]
// CHECK-NOT: prims.contract
func.func @attention(%x: tensor<2x5x3xf16>, %q: tensor<8x3xf16> {ptc.weight = "q"}, %k: tensor<2x3xf16> {ptc.weight = "k"}, %v: tensor<2x3xf16> {ptc.weight = "v"}, %a: tensor<8xf32> {ptc.weight = "a"}, %b: tensor<2xf32> {ptc.weight = "b"}, %c: tensor<2xf32> {ptc.weight = "c"}) -> (tensor<2x8x5xf16>, tensor<2x2x5xf16>, tensor<2x2x5xf16>) {
  %0 = prims.contract %x, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x5x3xf16>, tensor<8x3xf16>) -> tensor<2x5x8xf32>
  %1 = prims.broadcast_in_dim %a {dims = array<i64: 2>, sizes = array<i64: 2, 5, 8>} : (tensor<8xf32>) -> tensor<2x5x8xf32>
  %2 = prims.add %0, %1 : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %3 = prims.convert %2 {dtype = f16} : (tensor<2x5x8xf32>) -> tensor<2x5x8xf16>
  %4 = prims.transpose %3 {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x8xf16>) -> tensor<2x8x5xf16>
  %5 = prims.contract %x, %k {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x5x3xf16>, tensor<2x3xf16>) -> tensor<2x5x2xf32>
  %6 = prims.broadcast_in_dim %b {dims = array<i64: 2>, sizes = array<i64: 2, 5, 2>} : (tensor<2xf32>) -> tensor<2x5x2xf32>
  %7 = prims.add %5, %6 : (tensor<2x5x2xf32>, tensor<2x5x2xf32>) -> tensor<2x5x2xf32>
  %8 = prims.convert %7 {dtype = f16} : (tensor<2x5x2xf32>) -> tensor<2x5x2xf16>
  %9 = prims.transpose %8 {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x2xf16>) -> tensor<2x2x5xf16>
  %10 = prims.contract %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 2>, rhs_contract = array<i64: 1>} : (tensor<2x5x3xf16>, tensor<2x3xf16>) -> tensor<2x5x2xf32>
  %11 = prims.broadcast_in_dim %c {dims = array<i64: 2>, sizes = array<i64: 2, 5, 2>} : (tensor<2xf32>) -> tensor<2x5x2xf32>
  %12 = prims.add %10, %11 : (tensor<2x5x2xf32>, tensor<2x5x2xf32>) -> tensor<2x5x2xf32>
  %13 = prims.convert %12 {dtype = f16} : (tensor<2x5x2xf32>) -> tensor<2x5x2xf16>
  %14 = prims.transpose %13 {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x2xf16>) -> tensor<2x2x5xf16>
  return %4, %9, %14 : tensor<2x8x5xf16>, tensor<2x2x5xf16>, tensor<2x2x5xf16>
}

// What is multiplied behind its product stays there, and so do a weight that the caller gives and a result of its own.
// CHECK-LABEL: @others
// CHECK-COUNT-3: prims.contract
func.func @others(%x: tensor<5x3xf32>, %g: tensor<3x4xf32> {ptc.weight = "g"}, %u: tensor<3x4xf32> {ptc.weight = "u"}, %w: tensor<3x4xf32>) -> (tensor<5x4xf32>, tensor<4x5xf32>) {
  %0 = prims.contract %x, %g {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %1 = prims.contract %x, %u {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %2 = prims.mul %0, %1 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %3 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %4 = prims.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  return %2, %4 : tensor<5x4xf32>, tensor<4x5xf32>
}

// Layers that share weights share them side by side.
// CHECK-LABEL: @shared
// CHECK: %[[W:.*]] = prims.concatenate %arg1, %arg2
// CHECK-NOT: prims.concatenate
// CHECK: %[[P:.*]] = prims.contract %arg0, %[[W]]
// CHECK: prims.contract %{{.*}}, %[[W]]
func.func @shared(%x: tensor<5x3xf32>, %q: tensor<3x4xf32> {ptc.weight = "q"}, %k: tensor<3x4xf32> {ptc.weight = "k"}) -> (tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>) {
  %y = prims.neg %x : (tensor<5x3xf32>) -> tensor<5x3xf32>
  %0 = prims.contract %x, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %1 = prims.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %2 = prims.contract %x, %k {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %3 = prims.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %4 = prims.contract %y, %q {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %5 = prims.transpose %4 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %6 = prims.contract %y, %k {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<5x3xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
  %7 = prims.transpose %6 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  return %1, %3, %5, %7 : tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>, tensor<4x5xf32>
}
