// What a group says itself is a state of its own, also where it decides which states there are; the rest is everyone's.
// The first group that matches counts.
// RUN: ptc-opt %s --build-step="optimizer=sgd groups={b$: lr=0.5,momentum=0.9},{a[.]: weight_decay=0.1}" | FileCheck %s

// CHECK: func.func @forward(%[[X:[^:]*]]: tensor<4xf32> {ptc.input = "x"}, %{{[^:]*}}: tensor<4xf32> {ptc.state = "a.w"},
// CHECK-SAME: %{{[^:]*}}: tensor<4xf32> {ptc.state = "a.b"}, %{{[^:]*}}: tensor<i64> {ptc.state = "optimizer.step"},
// CHECK-SAME: %[[LR:[^:]*]]: tensor<f64> {ptc.state = "optimizer.lr"},
// CHECK-SAME: %[[DECAY2:[^:]*]]: tensor<f64> {ptc.state = "optimizer.2.weight_decay"},
// CHECK-SAME: %[[LR1:[^:]*]]: tensor<f64> {ptc.state = "optimizer.1.lr"},
// CHECK-SAME: %[[DECAY:[^:]*]]: tensor<f64> {ptc.state = "optimizer.weight_decay"},
// CHECK-SAME: %{{[^:]*}}: tensor<f64> {ptc.state = "optimizer.1.momentum"},
// CHECK-SAME: %{{[^:]*}}: tensor<f64> {ptc.state = "optimizer.dampening"},
// CHECK-SAME: %{{[^:]*}}: tensor<4xf32> {ptc.state = "optimizer/momentum_buffer/a.b"})
// CHECK: prims.convert %[[DECAY2]]
// CHECK: prims.convert %[[LR]]
// CHECK: prims.convert %[[DECAY]]
// CHECK: prims.convert %[[LR1]]
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "a.w", ptc.trainable},
                   %b: tensor<4xf32> {ptc.weight = "a.b", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}, tensor<4xf32> {ptc.writes_state = "count"}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prims.reduce %1 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %2, %0 : tensor<f32>, tensor<4xf32>
}
