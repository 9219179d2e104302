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
