// RUN: ptc-opt %s --fold-batch-norm | FileCheck %s
// The scale moves into the weights, which FoldConstants then computes.

// CHECK-LABEL: @forward
// CHECK: %[[S:.*]] = prims.broadcast_in_dim %arg2 {{.*}} -> tensor<4x3x3x3xf32>
// CHECK: %[[W:.*]] = prims.mul %arg1, %[[S]]
// CHECK: %[[C:.*]] = prims.convolution %arg0, %[[W]]
// CHECK: %[[T:.*]] = prims.broadcast_in_dim %arg3
// CHECK: prims.add %[[C]], %[[T]]
// CHECK-NEXT: return
func.func @forward(%x: tensor<1x3x8x8xf32> {ptc.input = "x"}, %w: tensor<4x3x3x3xf32> {ptc.weight = "w"}, %scale: tensor<4xf32> {ptc.weight = "scale"}, %shift: tensor<4xf32> {ptc.weight = "shift"}) -> tensor<1x4x6x6xf32> {
  %0 = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  %s = prims.broadcast_in_dim %scale {sizes = array<i64: 1, 4, 6, 6>, dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %1 = prims.mul %0, %s : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %t = prims.broadcast_in_dim %shift {sizes = array<i64: 1, 4, 6, 6>, dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x6x6xf32>
  %2 = prims.add %1, %t : (tensor<1x4x6x6xf32>, tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %2 : tensor<1x4x6x6xf32>
}

// Weights that bytes stand for keep their scale: the product is one of bytes by it.
// CHECK-LABEL: @bytes
// CHECK: %[[W:.*]] = prims.mul %{{.*}} : (tensor<64x32xf32>
// CHECK-NEXT: %[[P:.*]] = prims.contract %arg0, %[[W]]
// CHECK: %[[C:.*]] = prims.add %[[P]]
// CHECK: prims.div %[[C]]
func.func @bytes(%x: tensor<4x64xf32> {ptc.input = "x"}, %w: tensor<64x32xi8> {ptc.weight = "w"}, %scales: tensor<32xf32> {ptc.weight = "scales"}, %bias: tensor<32xf32> {ptc.weight = "bias"}) -> tensor<4x32xf32> {
  %wide = prims.convert %w {dtype = f32} : (tensor<64x32xi8>) -> tensor<64x32xf32>
  %s = prims.broadcast_in_dim %scales {sizes = array<i64: 64, 32>, dims = array<i64: 1>} : (tensor<32xf32>) -> tensor<64x32xf32>
  %real = prims.mul %wide, %s : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %y = prims.contract %x, %real {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %b = prims.broadcast_in_dim %bias {sizes = array<i64: 4, 32>, dims = array<i64: 1>} : (tensor<32xf32>) -> tensor<4x32xf32>
  %z = prims.add %y, %b : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %step = prims.full {value = 0.5 : f32, sizes = array<i64: 4, 32>} : () -> tensor<4x32xf32>
  %q = prims.div %z, %step : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  return %q : tensor<4x32xf32>
}
