// Averages follow the parameter as the step leaves it; the first one is the parameter itself.
// RUN: ptc-opt %s --build-step="optimizer=sgd ema=0.99" | FileCheck %s

// CHECK: %[[DECAY:[^:]*]]: tensor<f64> {ptc.state = "ema.decay"}, %[[COUNT:[^:]*]]: tensor<i64> {ptc.state = "ema.n_averaged"},
// CHECK-SAME: %[[OLD:[^:]*]]: tensor<4xf32> {ptc.state = "ema/w"})
// CHECK-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<4xf32> {ptc.writes_state = "w"}, tensor<i64> {ptc.writes_state = "optimizer.step"},
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "ema/w"}, tensor<i64> {ptc.writes_state = "ema.n_averaged"})
// CHECK: %[[NEXT:.*]] = prims.sub %arg1,
// CHECK: prims.sub %{{.*}}, %[[DECAY]] : (tensor<f64>
// CHECK: prims.eq %[[COUNT]]
// CHECK: prims.sub %[[NEXT]], %[[OLD]]
// CHECK: %[[EMA:.*]] = prims.select %{{[^,]*}}, %[[NEXT]], %{{[^,]*}} : (tensor<4xi1>
// CHECK: %[[MORE:.*]] = prims.add %[[COUNT]]
// CHECK: return %{{[^,]*}}, %[[NEXT]], %{{[^,]*}}, %[[EMA]], %[[MORE]]
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
