// The learning rate times a factor, of how many steps were before this one; the warm-up is only there if it was asked for.
// RUN: ptc-opt %s --build-step="optimizer=sgd schedule=cosine:steps=100" | FileCheck %s --check-prefix=COSINE
// RUN: ptc-opt %s --build-step="optimizer=sgd schedule=step:warmup=10,size=5" | FileCheck %s --check-prefix=WARMUP
// RUN: ptc-opt %s --build-step="optimizer=sgd schedule=multistep:milestones=30/80" | FileCheck %s --check-prefix=LIST

// COSINE: %[[STEP:[^:]*]]: tensor<i64> {ptc.state = "optimizer.step"}, %[[STEPS:[^:]*]]: tensor<f64> {ptc.state = "schedule.steps"},
// COSINE-SAME: %[[END:[^:]*]]: tensor<f64> {ptc.state = "schedule.end"}, %[[LR:[^:]*]]: tensor<f64> {ptc.state = "optimizer.lr"}
// COSINE: prims.convert %[[STEP]] {dtype = f64}
// COSINE: %[[COS:.*]] = prims.cos
// COSINE: %[[FACTOR:.*]] = prims.add %[[END]],
// COSINE: prims.mul %[[LR]], %[[FACTOR]] : (tensor<f64>

// WARMUP: {ptc.state = "schedule.warmup"}, %{{[^:]*}}: tensor<f64> {ptc.state = "schedule.warmup_start"}
// WARMUP-SAME: {ptc.state = "schedule.size"}
// WARMUP: prims.lt
// WARMUP: %[[FACTOR:.*]] = prims.select
// WARMUP: prims.mul %{{[^,]*}}, %[[FACTOR]] : (tensor<f64>

// LIST: tensor<2xf64> {ptc.state = "schedule.milestones"}
// LIST: prims.le {{.*}} : (tensor<2xf64>
// LIST: prims.reduce {{.*}} (tensor<2xf64>) -> tensor<f64>
// LIST: prims.pow
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.weight = "w", ptc.trainable})
    -> (tensor<f32> {ptc.output = "loss", ptc.loss}) {
  %0 = prims.mul %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.reduce %0 {kind = "sum", dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
