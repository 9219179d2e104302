// The scale is the loss's cotangent; where a gradient is not finite, all states of the optimizer stay, and only those.
// RUN: ptc-opt %s --build-step="optimizer=sgd loss-scale=dynamic" | FileCheck %s
// RUN: ptc-opt %s --build-step="optimizer=sgd loss-scale=128" | FileCheck %s --check-prefix=FIXED

// CHECK: %[[SCALE:[^:]*]]: tensor<f32> {ptc.state = "scaler.scale"},
// CHECK-SAME: %{{[^:]*}}: tensor<f64> {ptc.state = "scaler.growth_factor"}, %{{[^:]*}}: tensor<f64> {ptc.state = "scaler.backoff_factor"},
// CHECK-SAME: %[[TRACKER:[^:]*]]: tensor<i64> {ptc.state = "scaler.growth_tracker"}, %{{[^:]*}}: tensor<i64> {ptc.state = "scaler.growth_interval"},
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {ptc.state = "optimizer.step"}
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "count"}, tensor<f32> {ptc.writes_state = "scaler.scale"}, tensor<i64> {ptc.writes_state = "scaler.growth_tracker"},
// CHECK: %[[COUNT:.*]] = prims.mul %arg0, %arg1
// CHECK: prims.broadcast_in_dim %[[SCALE]]
// CHECK: prims.is_finite
// CHECK: %[[W:.*]] = prims.reduce {{.*}}"and"
// CHECK: %[[FIRST:.*]] = prims.and %{{.*}}, %[[W]]
// CHECK: %[[B:.*]] = prims.reduce {{.*}}"and"
// CHECK: %[[GOOD:.*]] = prims.and %[[FIRST]], %[[B]]
// CHECK: %[[NEW:.*]] = prims.select %[[GOOD]], {{.*}} tensor<f32>
// CHECK: prims.select %{{.*}}, %{{.*}}, %arg1 : (tensor<4xi1>
// CHECK: prims.select %{{.*}}, %{{.*}}, %arg2 : (tensor<4xi1>
// CHECK: prims.select %[[GOOD]], %{{.*}}, %[[STEP]] : (tensor<i1>, tensor<i64>
// CHECK: return %{{[^,]*}}, %[[COUNT]], %[[NEW]]

// FIXED: {ptc.state = "scaler.scale"}
// FIXED-NOT: scaler
// FIXED: prims.is_finite
// FIXED: prims.select
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "a.w", ptc.trainable},
                   %b: tensor<4xf32> {ptc.weight = "a.b", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}, tensor<4xf32> {ptc.writes_state = "count"}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.add %0, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = prims.reduce %1 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %2, %0 : tensor<f32>, tensor<4xf32>
}
