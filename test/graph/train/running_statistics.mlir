// Running statistics of a model that was exported in evaluation are weights, and in training states.
// RUN: ptc-opt %s --set-mode --functionalize | FileCheck %s

// CHECK-LABEL: func.func @whole
// CHECK-SAME: %arg1: tensor<3xf32> {ptc.state = "mean"}, %arg2: tensor<3xf32> {ptc.state = "var"})
// CHECK-SAME: (tensor<2x3x4xf32>, tensor<3xf32> {ptc.writes_state = "mean"}, tensor<3xf32> {ptc.writes_state = "var"})
func.func @whole(%x: tensor<2x3x4xf32> {ptc.input = "x"}, %mean: tensor<3xf32> {ptc.weight = "mean"},
                 %var: tensor<3xf32> {ptc.weight = "var"}) -> tensor<2x3x4xf32> {
  // CHECK: %[[N:.*]]:5 = aten._native_batch_norm_legit_functional.default %arg0, %arg1, %arg2
  // CHECK-SAME: training = true
  // CHECK: return %[[N]]#0, %[[N]]#3, %[[N]]#4
  %y = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @decomposed
// CHECK-SAME: %arg1: tensor<3xf32> {ptc.state = "mean"}, %arg2: tensor<3xf32> {ptc.state = "var"})
// CHECK-SAME: (tensor<2x3x4xf32>, tensor<3xf32> {ptc.writes_state = "mean"}, tensor<3xf32> {ptc.writes_state = "var"})
func.func @decomposed(%x: tensor<2x3x4xf32> {ptc.input = "x"}, %mean: tensor<3xf32> {ptc.weight = "mean"},
                      %var: tensor<3xf32> {ptc.weight = "var"}) -> tensor<2x3x4xf32> {
  // CHECK: %[[N:.*]]:5 = aten._native_batch_norm_legit_functional.default %arg0, %arg1, %arg2
  // CHECK-SAME: training = true
  // CHECK: return %[[N]]#0, %[[N]]#3, %[[N]]#4
  %y:3 = aten._native_batch_norm_legit_no_training.default %x, %mean, %var {
      operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0>, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<0xf32>, tensor<0xf32>)
  return %y#0 : tensor<2x3x4xf32>
}
