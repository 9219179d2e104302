// The model stands beside its step, in evaluation and without a loss; what the step trains is a state of both.
// RUN: ptc-opt %s --add-eval --set-mode --add-loss=loss=mse | FileCheck %s
// RUN: ptc-opt %s --add-eval --set-mode --add-loss=loss=mse --functionalize --decompose=training=1 \
// RUN:   --build-step=optimizer=sgd | FileCheck %s --check-prefix=STEP

// CHECK: func.func @forward({{.*}}{ptc.input = "target"}, {{.*}}tensor<4xf32> {ptc.trainable, ptc.weight = "w"})
// CHECK-SAME: tensor<f32> {ptc.loss, ptc.output = "loss"}
// CHECK-SAME: attributes {ptc.entry = "step"}
// CHECK: aten.dropout.default {{.*}}train = true
// CHECK: func.func @eval({{.*}}tensor<4xf32> {ptc.trainable, ptc.weight = "w"}) -> (tensor<3x4xf32> {ptc.output = "y"}) {
// CHECK: aten.dropout.default {{.*}}train = false
// CHECK-NOT: mse_loss

// STEP: func.func @forward({{.*}}tensor<4xf32> {ptc.state = "w"}
// STEP: func.func @eval({{.*}}tensor<4xf32> {ptc.state = "w"})
func.func @forward(%x: tensor<3x4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<3x4xf32> {ptc.output = "y"}) {
  %a = aten.mul.Tensor %x, %w : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %b = aten.dropout.default %a {p = 0.5 : f64, train = true} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %b : tensor<3x4xf32>
}
