// RUN: ptc-opt --decompose %s | FileCheck %s
// Offsets 0, L, 2 L, ... are rows of a matrix: no scatter is needed.

// CHECK-LABEL: @forward
func.func @forward(%table: tensor<10x4xf32>, %indices: tensor<6xi64>) -> tensor<2x4xf32> {
  // CHECK: prims.gather {{.*}} -> tensor<2x3x4xf32>
  // CHECK: prims.reduce {{.*}} {dims = array<i64: 1>, kind = "sum"}
  // CHECK-NOT: prims.scatter
  %offsets = aten.arange.start_step {start = 0 : i64, end = 6 : i64, step = 3 : i64} : () -> tensor<2xi64>
  %0:4 = aten.embedding_bag.default %table, %indices, %offsets
    : (tensor<10x4xf32>, tensor<6xi64>, tensor<2xi64>) -> (tensor<2x4xf32>, tensor<6xi64>, tensor<2xi64>, tensor<2xi64>)
  return %0#0 : tensor<2x4xf32>
}
