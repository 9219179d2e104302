// RUN: ptc-opt %s --set-mode --verify-diagnostics

func.func @saved_statistics(%x: tensor<2x3x4xf32>, %mean: tensor<3xf32>, %var: tensor<3xf32>)
    -> (tensor<2x3x4xf32>, tensor<0xf32>) {
  // expected-error @+2 {{cannot turn aten.native_batch_norm.default to training: what it saves is used, and has no elements in evaluation}}
  // expected-note @+1 {{export the model in training, or leave it as it is by --keep-mode}}
  %y:3 = aten.native_batch_norm.default %x, %mean, %var {operand_segments = array<i32: 1, 0, 0, 1, 1, 0, 0, 0>,
      training = false, momentum = 0.1 : f64, eps = 1.0e-05 : f64}
      : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<0xf32>, none)
  return %y#0, %y#1 : tensor<2x3x4xf32>, tensor<0xf32>
}
