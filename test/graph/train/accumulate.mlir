// Two entries more: gradients are added to states, and their mean updates the parameters.
// RUN: ptc-opt %s --build-step="optimizer=sgd accumulate=1" | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-NOT: gradient/w
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: {ptc.state = "w"}, %[[SUM:[^:]*]]: tensor<4xf32> {ptc.state = "gradient/w"},
// CHECK-SAME: %[[COUNT:[^:]*]]: tensor<i64> {ptc.state = "optimizer.accumulated"})
// CHECK-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<4xf32> {ptc.writes_state = "gradient/w"},
// CHECK-SAME: tensor<i64> {ptc.writes_state = "optimizer.accumulated"}) attributes {ptc.commits, ptc.forward = 1 : i64}
// CHECK: prims.add %[[SUM]]
// CHECK-LABEL: func.func @apply
// CHECK-SAME: {ptc.state = "w"}
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "gradient/w"}
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "w"}
// CHECK: prims.div
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
