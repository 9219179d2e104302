// RUN: ptc-opt %s --lower-transposed-convolution | FileCheck %s
// Stride 2 of a transposed convolution: two phases, with every other kernel element.

// CHECK-LABEL: @even
// CHECK: %[[A:.*]] = prims.slice %arg1 {{.*}}starts = array<i64: 0, 0, 0>
// CHECK: %[[X:.*]] = prims.convolution %arg0, %[[A]] {{.*}}high = array<i64: 0>{{.*}}low = array<i64: 1>
// CHECK: %[[B:.*]] = prims.slice %arg1 {{.*}}starts = array<i64: 1, 0, 0>
// CHECK: %[[Y:.*]] = prims.convolution %arg0, %[[B]] {{.*}}high = array<i64: 1>{{.*}}low = array<i64: 0>
// CHECK: prims.concatenate
// CHECK: %[[R:.*]] = prims.reshape {{.*}} -> tensor<1x16x3xf32>
// CHECK: return %[[R]]
func.func @even(%x: tensor<1x8x5xf32>, %w: tensor<4x5x3xf32>) -> tensor<1x16x3xf32> {
  %0 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 2>, high = array<i64: 2>, dilations = array<i64: 1>, input_dilations = array<i64: 2>, groups = 1 : i64, channels_last = true} : (tensor<1x8x5xf32>, tensor<4x5x3xf32>) -> tensor<1x16x3xf32>
  return %0 : tensor<1x16x3xf32>
}

// A kernel as large as its stride: both phases read the same input, and are output channels of one convolution.

// CHECK-LABEL: @alike
// CHECK: %[[C:.*]] = prims.reshape %arg1 {{.*}} -> tensor<1x2x5x3xf32>
// CHECK: %[[R:.*]] = prims.reverse %[[C]] {dims = array<i64: 1>}
// CHECK: %[[T:.*]] = prims.transpose %[[R]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: %[[W:.*]] = prims.reshape %[[T]] {{.*}} -> tensor<1x5x6xf32>
// CHECK: %[[Y:.*]] = prims.convolution %arg0, %[[W]] {{.*}} -> tensor<1x?x6xf32
// CHECK-NOT: prims.convolution
// CHECK: prims.reshape {{.*}} -> tensor<1x?x2x3xf32
// CHECK: prims.reshape {{.*}} -> tensor<1x?x3xf32
func.func @alike(%x: tensor<1x?x5xf32, affine_map<()[s0] -> (1, s0, 5)>>, %w: tensor<2x5x3xf32>) -> tensor<1x?x3xf32, affine_map<()[s0] -> (1, s0 * 2, 3)>> {
  %0 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, dilations = array<i64: 1>, input_dilations = array<i64: 2>, groups = 1 : i64, channels_last = true} : (tensor<1x?x5xf32, affine_map<()[s0] -> (1, s0, 5)>>, tensor<2x5x3xf32>) -> tensor<1x?x3xf32, affine_map<()[s0] -> (1, s0 * 2, 3)>>
  return %0 : tensor<1x?x3xf32, affine_map<()[s0] -> (1, s0 * 2, 3)>>
}

// CHECK-LABEL: @odd
// CHECK: prims.slice {{.*}}limits = array<i64: 1, 15, 3>{{.*}} -> tensor<1x15x3xf32>
func.func @odd(%x: tensor<1x8x5xf32>, %w: tensor<3x5x3xf32>) -> tensor<1x15x3xf32> {
  %0 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, dilations = array<i64: 1>, input_dilations = array<i64: 2>, groups = 1 : i64, channels_last = true} : (tensor<1x8x5xf32>, tensor<3x5x3xf32>) -> tensor<1x15x3xf32>
  return %0 : tensor<1x15x3xf32>
}
