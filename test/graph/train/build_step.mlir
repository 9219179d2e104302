// A parameter becomes a state, and its update stands behind everything else. Hyperparameters are numbers of f64 that meet
// tensors in the tensors' type; moments have the parameter's type.
// RUN: ptc-opt %s --build-step="optimizer=adamw options=lr=0.01" | FileCheck %s

// CHECK: func.func @forward(%[[X:[^:]*]]: tensor<4xf32> {ptc.input = "x"}, %[[W:[^:]*]]: tensor<4xf32> {ptc.state = "w"},
// CHECK-SAME: %[[STEP:[^:]*]]: tensor<i64> {ptc.state = "optimizer.step"},
// CHECK-SAME: %[[LR:[^:]*]]: tensor<f64> {ptc.state = "optimizer.lr"},
// CHECK-SAME: %[[BETA1:[^:]*]]: tensor<f64> {ptc.state = "optimizer.beta1"},
// CHECK-SAME: %[[BETA2:[^:]*]]: tensor<f64> {ptc.state = "optimizer.beta2"},
// CHECK-SAME: %[[EPS:[^:]*]]: tensor<f64> {ptc.state = "optimizer.eps"},
// CHECK-SAME: %[[DECAY:[^:]*]]: tensor<f64> {ptc.state = "optimizer.weight_decay"},
// CHECK-SAME: %[[M:[^:]*]]: tensor<4xf32> {ptc.state = "optimizer/exp_avg/w"},
// CHECK-SAME: %[[V:[^:]*]]: tensor<4xf32> {ptc.state = "optimizer/exp_avg_sq/w"})
// CHECK-SAME: -> (tensor<f32> {ptc.output = "loss"}, tensor<4xf32> {ptc.writes_state = "w"},
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "optimizer/exp_avg/w"},
// CHECK-SAME: tensor<4xf32> {ptc.writes_state = "optimizer/exp_avg_sq/w"},
// CHECK-SAME: tensor<i64> {ptc.writes_state = "optimizer.step"})

// CHECK: %[[LOSS:.*]] = prims.reduce
// CHECK: %[[COUNT:.*]] = prims.add %[[STEP]], %{{.*}} : (tensor<i64>, tensor<i64>) -> tensor<i64>

// The weight decays by itself.
// CHECK: %[[RATE:.*]] = prims.mul %[[LR]], %[[DECAY]] : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: %[[REST:.*]] = prims.sub %{{.*}}, %[[RATE]] : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: %[[ROUNDED:.*]] = prims.convert %[[REST]] {dtype = f32} : (tensor<f64>) -> tensor<f32>
// CHECK: %[[FACTOR:.*]] = prims.broadcast_in_dim %[[ROUNDED]]
// CHECK: %[[DECAYED:.*]] = prims.mul %[[W]], %[[FACTOR]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// The mean goes from where it was, or from the gradient, along what is between them.
// CHECK: %[[BASE:.*]] = prims.select %{{[^,]*}}, %[[M]], %[[G:[^ ]*]] :
// CHECK: prims.sub %[[G]], %[[M]] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[MEAN:.*]] = prims.add %[[BASE]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[OLD:.*]] = prims.mul %[[V]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[SQUARE:.*]] = prims.add %[[OLD]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// Corrections are of f64.
// CHECK: prims.pow %[[BETA1]], %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: prims.div %[[LR]], %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: prims.pow %[[BETA2]], %{{.*}} : (tensor<f64>, tensor<f64>) -> tensor<f64>
// CHECK: %[[NEXT:.*]] = prims.sub %[[DECAYED]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: return %[[LOSS]], %[[NEXT]], %[[MEAN]], %[[SQUARE]], %[[COUNT]]
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
