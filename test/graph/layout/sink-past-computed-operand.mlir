// What is added to a convolution is computed with channels last when nothing else reads it, from operands that cost no copy:
// the transpose goes on behind the addition. (A layer's scale times a bias, as in FastViT.)
// RUN: ptc-opt %s --choose-layout | FileCheck %s

// CHECK: %[[CONV:.*]] = prims.convolution
// CHECK-DAG: %[[BIAS:.*]] = prims.broadcast_in_dim %arg2 {{.*}} -> tensor<1x6x5x4xf32>
// CHECK-DAG: %[[SCALE:.*]] = prims.broadcast_in_dim %{{.*}} -> tensor<1x6x5x4xf32>
// CHECK: %[[PRODUCT:.*]] = prims.mul %[[BIAS]], %[[SCALE]]
// CHECK: %[[SUM:.*]] = prims.add %[[CONV]], %[[PRODUCT]]
// CHECK: %[[RESULT:.*]] = prims.transpose %[[SUM]]
// CHECK: return %[[RESULT]]
func.func @forward(%x: tensor<1x3x6x5xf32> {ptc.input = "x"}, %w: tensor<4x3x1x1xf32> {ptc.weight = "w"},
                   %bias: tensor<4xf32> {ptc.weight = "bias"}, %scale: tensor<4x1x1xf32> {ptc.weight = "scale"})
    -> (tensor<1x4x6x5xf32> {ptc.output = "y"}) {
  %conv = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x3x6x5xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x6x5xf32>
  %a = prims.broadcast_in_dim %bias {dims = array<i64: 1>, sizes = array<i64: 1, 4, 6, 5>} : (tensor<4xf32>) -> tensor<1x4x6x5xf32>
  %b = prims.broadcast_in_dim %scale {dims = array<i64: 1, 2, 3>, sizes = array<i64: 1, 4, 6, 5>} : (tensor<4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %product = prims.mul %a, %b : (tensor<1x4x6x5xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  %y = prims.add %conv, %product : (tensor<1x4x6x5xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  return %y : tensor<1x4x6x5xf32>
}
