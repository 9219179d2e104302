// What is another operator in training becomes that, however the model was exported.
// RUN: ptc-opt %s --set-mode | FileCheck %s

// In place or not; a flag that has a default is said.
// CHECK-LABEL: func.func @dropouts
// CHECK: aten.dropout.default %arg0 {p = 5.000000e-01 : f64, train = true}
// CHECK: aten.alpha_dropout_.default {{.*}}train = true
// CHECK: aten.native_dropout.default {{.*}}train = true
// CHECK: aten.rrelu.default {{.*}}training = true
func.func @dropouts(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %a = aten.dropout.default %x {p = 0.5 : f64, train = false} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %b = aten.alpha_dropout_.default %a {p = 0.5 : f64, train = false} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %c:2 = aten.native_dropout.default %b {p = 0.5 : f64, train = false} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, none)
  %d = aten.rrelu.default %c#0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return %d : tensor<4x3xf32>
}

// Batch norm whose statistics are saved for a derivative that evaluation does not have.
// CHECK-LABEL: func.func @batch_norms
// CHECK: aten.batch_norm.default {{.*}}training = true
// CHECK: aten._native_batch_norm_legit.default {{.*}}training = true} : {{.*}} -> (tensor<2x3x4xf32>, none, none)
// CHECK: aten._batch_norm_with_update.default {{.*}} -> (tensor<2x3x4xf32>, none, none, none)
func.func @batch_norms(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %a = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %b:3 = aten._native_batch_norm_legit_no_training.default %a, %mean, %var {
      operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0>, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<0xf32>, none)
  %c:4 = aten._batch_norm_no_update.default %b#0, %mean, %var {
      operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0>, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, none, none, none)
  return %c#0 : tensor<2x3x4xf32>
}

// Instance norm that keeps statistics was told to use them; a derivative belongs to a forward that has run.
// CHECK-LABEL: func.func @as_they_are
// CHECK: aten.instance_norm.default {{.*}}use_input_stats = false
// CHECK: aten.rrelu_with_noise_backward.default {{.*}}training = false
func.func @as_they_are(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>) -> tensor<2x3x4xf32> {
  %a = aten.instance_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      use_input_stats = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %b = aten.rrelu_with_noise_backward.default %a, %x, %x {lower = 0.1 : f64, upper = 0.3 : f64, training = false,
      self_is_result = false} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %b : tensor<2x3x4xf32>
}
