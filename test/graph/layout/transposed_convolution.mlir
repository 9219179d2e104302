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

// CHECK-LABEL: @odd
// CHECK: prims.slice {{.*}}limits = array<i64: 1, 15, 3>{{.*}} -> tensor<1x15x3xf32>
func.func @odd(%x: tensor<1x8x5xf32>, %w: tensor<3x5x3xf32>) -> tensor<1x15x3xf32> {
  %0 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, dilations = array<i64: 1>, input_dilations = array<i64: 2>, groups = 1 : i64, channels_last = true} : (tensor<1x8x5xf32>, tensor<3x5x3xf32>) -> tensor<1x15x3xf32>
  return %0 : tensor<1x15x3xf32>
}
