// Of @eval, what was exported in training is as in evaluation, but where batch norm knows the batch's statistics alone.
// RUN: ptc-opt %s --split-input-file --set-mode | FileCheck %s

// CHECK-LABEL: func.func @eval
// CHECK: aten.batch_norm.default {{.*}}training = false
// CHECK: aten._native_batch_norm_legit_functional.default {{.*}}training = false
// CHECK-SAME: -> (tensor<2x3x4xf32>, none, none, tensor<3xf32>, tensor<3xf32>)
// CHECK: aten._batch_norm_no_update.default {{.*}} -> (tensor<2x3x4xf32>, none, none, none)
// CHECK: aten.batch_norm.default {{.*}}training = true
func.func @eval(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>)
    -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) {
  %a = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %b:5 = aten._native_batch_norm_legit_functional.default %a, %mean, %var {
      operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0>, training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
      -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  %c:4 = aten._batch_norm_with_update.default %b#0, %mean, %var {
      operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0>, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, none)
  %d = aten.batch_norm.default %c#0 {operand_segments = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 0>,
      training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %d, %b#3, %b#4 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>
}

// -----

// Nor are batches counted, in place or not.
// CHECK-LABEL: func.func @eval(
// CHECK-SAME: %[[COUNT:[^:]*]]: tensor<i64> {ptc.state = "n.num_batches_tracked"}
// CHECK-NOT: aten.add_
// CHECK: return %{{.*}}, %[[COUNT]] :
func.func @eval(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32> {ptc.weight = "n.running_mean"},
    %var: tensor<3xf32> {ptc.weight = "n.running_var"}, %mean2: tensor<3xf32> {ptc.weight = "m.running_mean"},
    %count: tensor<i64> {ptc.state = "n.num_batches_tracked"}, %other: tensor<i64> {ptc.weight = "m.num_batches_tracked"})
    -> (tensor<2x3x4xf32> {ptc.output = "y"}, tensor<i64> {ptc.writes_state = "n.num_batches_tracked"}) {
  %n = aten.add.Scalar %count {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %m = aten.add_.Scalar %other {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  %a = aten.batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %b = aten.batch_norm.default %a, %mean2, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0, 0>,
      training = true, momentum = 0.1 : f64, eps = 1.0e-05 : f64, cudnn_enabled = true}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %b, %n : tensor<2x3x4xf32>, tensor<i64>
}
