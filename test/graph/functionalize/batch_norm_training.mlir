// Batch norm in training writes its running statistics, though its schema is silent.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: (tensor<2x3x4xf32>, tensor<3xf32> {ptc.writes_state = "mean"}, tensor<3xf32> {ptc.writes_state = "var"})
func.func @forward(%x: tensor<2x3x4xf32> {ptc.input = "x"}, %mean: tensor<3xf32> {ptc.state = "mean"},
                   %var: tensor<3xf32> {ptc.state = "var"}) -> tensor<2x3x4xf32> {
  // CHECK: %[[N:.*]]:5 = aten._native_batch_norm_legit_functional.default %arg0, %arg1, %arg2
  // CHECK-SAME: training = true
  // CHECK: return %[[N]]#0, %[[N]]#3, %[[N]]#4
  %y = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @inference
// CHECK: aten.batch_norm.default
func.func @inference(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %y = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}
