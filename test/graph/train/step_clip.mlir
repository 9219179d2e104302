// RUN: ptc-opt %s --build-step="optimizer=sgd clip-norm=1.5" | FileCheck %s --check-prefix=NORM
// RUN: ptc-opt %s --build-step="optimizer=sgd clip-value=1.5" | FileCheck %s --check-prefix=VALUE

// The norm is of all gradients together, and an output behind the others.
// NORM: %[[LIMIT:[^:]*]]: tensor<f64> {ptc.state = "clip.norm"}
// NORM-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<f32> {ptc.output = "grad_norm"}, tensor<4xf32> {ptc.writes_state = "count"}
// NORM: %[[W2:.*]] = prims.mul %[[W:[^,]*]], %[[W]] : (tensor<4xf32>
// NORM: %[[WS:.*]] = prims.reduce %[[W2]] {{.*}}"sum"
// NORM: %[[B2:.*]] = prims.mul %[[B:[^,]*]], %[[B]] : (tensor<4xf32>
// NORM: %[[BS:.*]] = prims.reduce %[[B2]] {{.*}}"sum"
// NORM: %[[S:.*]] = prims.add %[[WS]], %[[BS]] : (tensor<f32>
// NORM: %[[NORM:.*]] = prims.sqrt %[[S]]
// NORM: prims.add %[[NORM]], %{{.*}} : (tensor<f32>
// NORM: prims.reciprocal
// NORM: prims.convert %[[LIMIT]] {dtype = f32}
// NORM: %[[FACTOR:.*]] = prims.minimum
// NORM: %[[ALL:.*]] = prims.broadcast_in_dim %[[FACTOR]]
// NORM: prims.mul %[[W]], %[[ALL]]
// NORM: prims.mul %[[B]],
// NORM: return %{{[^,]*}}, %[[NORM]], %{{[^,]*}}

// VALUE: %[[LIMIT:[^:]*]]: tensor<f64> {ptc.state = "clip.value"}
// VALUE: %[[HIGH:.*]] = prims.convert %[[LIMIT]] {dtype = f32}
// VALUE: prims.neg %[[HIGH]]
// VALUE: prims.maximum
// VALUE: prims.minimum
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "a.w", ptc.trainable},
                   %b: tensor<4xf32> {ptc.weight = "a.b", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}, tensor<4xf32> {ptc.writes_state = "count"}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prims.reduce %1 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %2, %0 : tensor<f32>, tensor<4xf32>
}
