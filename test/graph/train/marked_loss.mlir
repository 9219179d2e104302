// A text may say which result is the loss.
// RUN: ptc-opt %s --add-loss | FileCheck %s
// RUN: not ptc-opt %s --add-loss=loss=mse 2>&1 | FileCheck %s --check-prefix=TWO

// CHECK-LABEL: func.func @forward
// CHECK-SAME: (tensor<4xf32> {ptc.output = "y"}, tensor<f32> {ptc.loss, ptc.output = "z"})
// TWO: error: the model says which of its results is the loss (leave --loss out)
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %z: tensor<f32> {ptc.input = "z"})
    -> (tensor<4xf32> {ptc.output = "y"}, tensor<f32> {ptc.output = "z", ptc.loss}) {
  return %x, %z : tensor<4xf32>, tensor<f32>
}
