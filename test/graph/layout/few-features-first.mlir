// A few features of many points that lie first, as attention's heads when they are mixed, stay first: the product's rows are
// long, and what follows works on them as they lie.
// RUN: ptc-opt %s --choose-layout --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @few
// CHECK: %[[Y:.*]] = prims.contract %arg1, %arg0 {{.*}}lhs_contract = array<i64: 1>{{.*}}rhs_contract = array<i64: 1>{{.*}} -> tensor<4x2x100x100xf32>
// CHECK: %[[EXP:.*]] = prims.exp %[[Y]]
// CHECK: prims.transpose %[[EXP]] {permutation = array<i64: 1, 0, 2, 3>}
func.func @few(%x: tensor<2x3x100x100xf32> {ptc.input = "x"}, %w: tensor<4x3xf32> {ptc.weight = "w"})
    -> (tensor<2x4x100x100xf32> {ptc.output = "y"}) {
  %p = prims.contract %x, %w {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>} : (tensor<2x3x100x100xf32>, tensor<4x3xf32>) -> tensor<2x100x100x4xf32>
  %e = prims.exp %p : (tensor<2x100x100x4xf32>) -> tensor<2x100x100x4xf32>
  %y = prims.transpose %e {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x100x100x4xf32>) -> tensor<2x4x100x100xf32>
  return %y : tensor<2x4x100x100xf32>
}

// -----

// Rows of many features are long enough.
// CHECK-LABEL: func.func @many
// CHECK: prims.contract %arg0, %arg1
func.func @many(%x: tensor<2x3x100xf32> {ptc.input = "x"}, %w: tensor<64x3xf32> {ptc.weight = "w"})
    -> (tensor<2x100x64xf32> {ptc.output = "y"}) {
  %p = prims.contract %x, %w {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>} : (tensor<2x3x100xf32>, tensor<64x3xf32>) -> tensor<2x100x64xf32>
  return %p : tensor<2x100x64xf32>
}
