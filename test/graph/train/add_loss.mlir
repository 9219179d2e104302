// The loss is the first result; its target stands behind the other inputs, before those that a call may leave out.
// RUN: ptc-opt %s --add-loss=loss=cross_entropy | FileCheck %s
// RUN: ptc-opt %s --add-loss=loss=mse | FileCheck %s --check-prefix=MSE

// A target names a class for each place, or has a value for each element.
// CHECK-LABEL: func.func @images
// CHECK-SAME: (%arg0: tensor<4x10x8xf32> {ptc.input = "x"}, %arg1: tensor<4x8xi64> {ptc.input = "target"},
// CHECK-SAME: %arg2: tensor<2xf32> {ptc.default = "d", ptc.input = "d"}, %arg3: tensor<2xf32> {ptc.trainable, ptc.weight = "w"})
// CHECK-SAME: (tensor<f32> {ptc.loss, ptc.output = "loss"}, tensor<4x10x8xf32> {ptc.output = "y"}, tensor<2xf32> {ptc.output = "z"})
// CHECK: %[[Y:.*]] = aten.relu.default %arg0
// CHECK: %[[Z:.*]] = aten.add.Tensor
// CHECK: %[[L:.*]] = aten.cross_entropy_loss.default %[[Y]], %arg1 : (tensor<4x10x8xf32>, tensor<4x8xi64>) -> tensor<f32>
// CHECK: return %[[L]], %[[Y]], %[[Z]]
// MSE-LABEL: func.func @images
// MSE-SAME: %arg1: tensor<4x10x8xf32> {ptc.input = "target"}
// MSE: aten.mse_loss.default %{{.*}}, %arg1 : (tensor<4x10x8xf32>, tensor<4x10x8xf32>) -> tensor<f32>
func.func @images(%x: tensor<4x10x8xf32> {ptc.input = "x"}, %d: tensor<2xf32> {ptc.input = "d", ptc.default = "d"},
                  %w: tensor<2xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<4x10x8xf32> {ptc.output = "y"}, tensor<2xf32> {ptc.output = "z"}) {
  %y = aten.relu.default %x : (tensor<4x10x8xf32>) -> tensor<4x10x8xf32>
  %z = aten.add.Tensor %d, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y, %z : tensor<4x10x8xf32>, tensor<2xf32>
}

// One sample alone has its classes in dimension 0. What is no output has no loss.
// CHECK-LABEL: func.func @one_sample
// CHECK-SAME: %arg1: tensor<i64> {ptc.input = "target"}
// CHECK-SAME: (tensor<f64> {ptc.loss, ptc.output = "loss"}, tensor<1xf32> {ptc.writes_state = "s"}, tensor<10xf64> {ptc.output = "y"})
// CHECK: aten.cross_entropy_loss.default %arg0, %arg1 : (tensor<10xf64>, tensor<i64>) -> tensor<f64>
func.func @one_sample(%x: tensor<10xf64> {ptc.input = "x"}, %s: tensor<1xf32> {ptc.state = "s"})
    -> (tensor<1xf32> {ptc.writes_state = "s"}, tensor<10xf64> {ptc.output = "y"}) {
  return %s, %x : tensor<1xf32>, tensor<10xf64>
}
