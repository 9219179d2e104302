// Options decide which states there are: those of flags, and of a momentum that is not 0.
// RUN: ptc-opt %s --build-step="optimizer=sgd" | FileCheck %s --check-prefix=PLAIN
// RUN: ptc-opt %s --build-step="optimizer=SGD options=momentum=0.9" | FileCheck %s --check-prefix=MOMENTUM
// RUN: ptc-opt %s --build-step="optimizer=sgd options=momentum=0.9,nesterov=true,maximize" \
// RUN:   | FileCheck %s --check-prefix=NESTEROV
// RUN: ptc-opt %s --build-step="optimizer=adam options=amsgrad=true" | FileCheck %s --check-prefix=AMSGRAD
// RUN: ptc-opt %s --build-step="optimizer=nadam" | FileCheck %s --check-prefix=NADAM

// PLAIN: %[[LR:[^:]*]]: tensor<f64> {ptc.state = "optimizer.lr"}, %[[DECAY:[^:]*]]: tensor<f64> {ptc.state = "optimizer.weight_decay"})
// PLAIN-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<4xf32> {ptc.writes_state = "w"}, tensor<i64> {ptc.writes_state = "optimizer.step"})

// The first step has no buffer yet: it begins as the gradient.
// MOMENTUM: %[[B:[^:]*]]: tensor<4xf32> {ptc.state = "optimizer/momentum_buffer/w"})
// MOMENTUM: %[[COUNT:.*]] = prims.add {{.*}} -> tensor<i64>
// MOMENTUM: %[[OLD:.*]] = prims.mul %[[B]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// MOMENTUM: %[[SUM:.*]] = prims.add %[[OLD]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// MOMENTUM: prims.eq %[[COUNT]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
// MOMENTUM: %[[NEW:.*]] = prims.select %{{.*}}, %[[SUM]] :
// MOMENTUM: return %{{[^,]*}}, %{{[^,]*}}, %[[NEW]], %[[COUNT]]

// NESTEROV: %[[B:[^:]*]]: tensor<4xf32> {ptc.state = "optimizer/momentum_buffer/w"})
// NESTEROV: prims.neg
// NESTEROV: %[[NEW:.*]] = prims.select
// NESTEROV: prims.mul %{{.*}}, %[[NEW]] :

// AMSGRAD: %[[MAX:[^:]*]]: tensor<4xf32> {ptc.state = "optimizer/max_exp_avg_sq/w"})
// AMSGRAD-SAME: {ptc.writes_state = "optimizer/max_exp_avg_sq/w"}
// AMSGRAD: prims.maximum %[[MAX]],

// A number that all parameters share, of f32 as PyTorch has it.
// NADAM: tensor<f32> {ptc.state = "optimizer.mu_product"}
// NADAM-SAME: tensor<f32> {ptc.writes_state = "optimizer.mu_product"}, tensor<4xf32> {ptc.writes_state = "w"}
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
