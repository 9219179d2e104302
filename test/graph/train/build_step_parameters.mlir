// Parameters of every kind: of no dimensions, complex, frozen, and one that the loss does not depend on.
// RUN: ptc-opt %s --build-step="optimizer=sgd options=momentum=0.9" 2>&1 | FileCheck %s

// CHECK: warning: the loss does not depend on parameter 'unused', which stays as it is
// CHECK: func.func @forward(%[[X:[^:]*]]: tensor<4xf32> {ptc.input = "x"}, %[[S:[^:]*]]: tensor<f32> {ptc.state = "s"},
// CHECK-SAME: %[[Z:[^:]*]]: tensor<4xcomplex<f32>> {ptc.state = "z"}, %{{[^:]*}}: tensor<4xf32> {ptc.weight = "frozen"},
// CHECK-SAME: %{{[^:]*}}: tensor<4xf32> {ptc.weight = "unused"},
// CHECK-SAME: tensor<f32> {ptc.state = "optimizer/momentum_buffer/s"}
// CHECK-SAME: %[[B:[^:]*]]: tensor<4xcomplex<f32>> {ptc.state = "optimizer/momentum_buffer/z"})
// CHECK-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<4xf32> {ptc.writes_state = "count"},
// CHECK-SAME: tensor<f32> {ptc.writes_state = "s"}
// CHECK-SAME: tensor<4xcomplex<f32>> {ptc.writes_state = "z"}, tensor<4xcomplex<f32>> {ptc.writes_state = "optimizer/momentum_buffer/z"}

// Numbers of f64 are no weaker than a tensor without dimensions: it is seen as one of a single element.
// CHECK: prims.reshape %[[S]] {sizes = array<i64: 1>} : (tensor<f32>) -> tensor<1xf32>
// CHECK: prims.reshape %{{.*}} {sizes = array<i64>} : (tensor<1xf32>) -> tensor<f32>
// The parts of a complex one are updated one by one.
// CHECK-DAG: prims.real %[[Z]]
// CHECK-DAG: prims.real %[[B]]
// CHECK-DAG: prims.imag %[[Z]]
// CHECK-DAG: prims.imag %[[B]]
// CHECK: prims.complex
// CHECK: prims.complex
// CHECK-NEXT: return
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %s: tensor<f32> {ptc.weight = "s", ptc.trainable},
                   %z: tensor<4xcomplex<f32>> {ptc.weight = "z", ptc.trainable},
                   %frozen: tensor<4xf32> {ptc.weight = "frozen"},
                   %unused: tensor<4xf32> {ptc.weight = "unused", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}, tensor<4xf32> {ptc.writes_state = "count"}) {
  %0 = prims.broadcast_in_dim %s {sizes = array<i64: 4>, dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  %1 = prims.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prims.real %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %3 = prims.mul %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = prims.mul %3, %frozen : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = prims.reduce %4 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %5, %unused : tensor<f32>, tensor<4xf32>
}
