// RUN: ptc-opt --decompose %s | FileCheck %s
// Random operators read a state, each a draw of its own, and the program leaves it advanced by their number.

// CHECK: func.func @forward(%[[X:.*]]: tensor<4xf32>, %[[STATE:.*]]: tensor<2xi64> {ptc.state = "ptc.random"})
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32>, tensor<2xi64> {ptc.writes_state = "ptc.random"})
// CHECK: prims.random_bits %[[STATE]] {sizes = array<i64: 4>, stream = 0 : i64}
// CHECK: prims.random_bits %[[STATE]] {sizes = array<i64: 4>, stream = 1 : i64}
// CHECK: %[[DRAWS:.*]] = prims.constant {value = dense<[0, 2]> : tensor<2xi64>}
// CHECK: %[[NEXT:.*]] = prims.add %[[STATE]], %[[DRAWS]]
// CHECK: return {{.*}}, %[[NEXT]]
func.func @forward(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = aten.rand_like.default %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = aten.rand_like.default %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
