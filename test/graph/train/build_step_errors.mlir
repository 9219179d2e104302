// RUN: not ptc-opt %s --build-step="optimizer=adan" --split-input-file 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ptc-opt %s --build-step="optimizer=rmsprop options=beta1=0.9" --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OPTION
// RUN: not ptc-opt %s --build-step="optimizer=adam options=beta1=1" --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=RANGE
// RUN: not ptc-opt %s --build-step="optimizer=adam options=amsgrad=yes" --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FLAG
// RUN: not ptc-opt %s --build-step="optimizer=sgd options=nesterov=true" --split-input-file 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NESTEROV
// RUN: not ptc-opt %s --build-step="optimizer=sgd" --split-input-file 2>&1 | FileCheck %s

// NAME: there is no optimizer 'adan' (there are sgd, adam, adamw, adagrad, rmsprop, adadelta, adamax, nadam, radam, lion)
// OPTION: rmsprop has no option 'beta1' (it has lr, alpha, eps, weight_decay, momentum, centered, maximize)
// RANGE: option 'beta1' of adam is '1', and not a number from 0 to below 1
// FLAG: option 'amsgrad' of adam is 'yes', and not true or false
// NESTEROV: sgd: nesterov needs a momentum and no dampening
func.func @forward(%w: tensor<f32> {ptc.weight = "w", ptc.trainable}) -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  return %w : tensor<f32>
}

// -----

// CHECK: the model has no loss
func.func @forward(%w: tensor<f32> {ptc.weight = "w", ptc.trainable}) -> (tensor<f32> {ptc.output = "y"}) {
  return %w : tensor<f32>
}

// -----

// CHECK: the loss is 'tensor<2xf32>', and not one float without dimensions
func.func @forward(%w: tensor<2xf32> {ptc.weight = "w", ptc.trainable}) -> (tensor<2xf32> {ptc.output = "y", ptc.loss}) {
  return %w : tensor<2xf32>
}

// -----

// CHECK: the model has no parameter to train
func.func @forward(%w: tensor<f32> {ptc.weight = "w"}) -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  return %w : tensor<f32>
}

// -----

// CHECK: parameter 'w' is 'bf16', in which sums of small steps are lost
// CHECK: note: export the model in float32; --amp has its products in a half type
func.func @forward(%w: tensor<bf16> {ptc.weight = "w", ptc.trainable}) -> (tensor<bf16> {ptc.output = "loss", ptc.loss}) {
  return %w : tensor<bf16>
}

// -----

// CHECK: the forward pass writes to a parameter that is to be trained
func.func @forward(%w: tensor<f32> {ptc.state = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}, tensor<f32> {ptc.writes_state = "w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// CHECK: 'w', which steps change, is read inside control flow as if it did not change
func.func private @branch(%w: tensor<f32> {ptc.weight = "w"}) -> tensor<f32> {
  return %w : tensor<f32>
}
func.func @forward(%w: tensor<f32> {ptc.weight = "w", ptc.trainable}) -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  return %w : tensor<f32>
}

// -----

// CHECK: the model has a weight 'optimizer.lr', as a state of the step is named
func.func @forward(%w: tensor<f32> {ptc.weight = "w", ptc.trainable}, %lr: tensor<f32> {ptc.weight = "optimizer.lr"})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %w, %lr : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
