// RUN: ptc-opt %s --lower-patch-convolution | FileCheck %s
// A kernel as large as its stride meets each pixel once: patches are rows of a product.

// Channels that were first come first in a patch, and pixels behind the last whole patch are left out.
// CHECK-LABEL: @channels_first
// CHECK: %[[S:.*]] = prims.slice %arg0 {{.*}}limits = array<i64: 2, 3, 8, 12>
// CHECK: %[[C:.*]] = prims.reshape %[[S]] {sizes = array<i64: 2, 3, 2, 4, 3, 4>}
// CHECK: %[[T:.*]] = prims.transpose %[[C]] {permutation = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK: %[[X:.*]] = prims.reshape %[[T]] {sizes = array<i64: 2, 2, 3, 48>}
// CHECK: %[[V:.*]] = prims.transpose %arg1 {permutation = array<i64: 2, 0, 1, 3>}
// CHECK: %[[W:.*]] = prims.reshape %[[V]] {sizes = array<i64: 48, 5>}
// CHECK: %[[Y:.*]] = prims.contract %[[X]], %[[W]] {{.*}}lhs_contract = array<i64: 3>{{.*}}rhs_contract = array<i64: 0>
// CHECK: return %[[Y]]
func.func @channels_first(%x: tensor<2x3x10x14xf32>, %w: tensor<4x4x3x5xf32>) -> tensor<2x2x3x5xf32> {
  %0 = prims.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x10x14xf32>) -> tensor<2x10x14x3xf32>
  %1 = prims.convolution %0, %w {strides = array<i64: 4, 4>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = true} : (tensor<2x10x14x3xf32>, tensor<4x4x3x5xf32>) -> tensor<2x2x3x5xf32>
  return %1 : tensor<2x2x3x5xf32>
}

// CHECK-LABEL: @channels_last
// CHECK: %[[C:.*]] = prims.reshape %arg0 {sizes = array<i64: 2, 4, 2, 8>}
// CHECK: %[[T:.*]] = prims.transpose %[[C]] {permutation = array<i64: 0, 1, 2, 3>}
// CHECK: %[[X:.*]] = prims.reshape %[[T]] {sizes = array<i64: 2, 4, 16>}
// CHECK: %[[W:.*]] = prims.reshape %arg1 {sizes = array<i64: 16, 5>}
// CHECK: prims.contract %[[X]], %[[W]]
func.func @channels_last(%x: tensor<2x8x8xf32>, %w: tensor<2x8x5xf32>) -> tensor<2x4x5xf32> {
  %0 = prims.convolution %x, %w {strides = array<i64: 2>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = true} : (tensor<2x8x8xf32>, tensor<2x8x5xf32>) -> tensor<2x4x5xf32>
  return %0 : tensor<2x4x5xf32>
}

// Padded, overlapping or in groups it stays a convolution.
// CHECK-LABEL: @others
// CHECK-COUNT-3: prims.convolution
func.func @others(%x: tensor<2x8x8xf32>, %w: tensor<2x8x5xf32>, %g: tensor<2x4x6xf32>) -> (tensor<2x5x5xf32>, tensor<2x7x5xf32>, tensor<2x4x6xf32>) {
  %0 = prims.convolution %x, %w {strides = array<i64: 2>, low = array<i64: 1>, high = array<i64: 1>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = true} : (tensor<2x8x8xf32>, tensor<2x8x5xf32>) -> tensor<2x5x5xf32>
  %1 = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = true} : (tensor<2x8x8xf32>, tensor<2x8x5xf32>) -> tensor<2x7x5xf32>
  %2 = prims.convolution %x, %g {strides = array<i64: 2>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 2 : i64, channels_last = true} : (tensor<2x8x8xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %0, %1, %2 : tensor<2x5x5xf32>, tensor<2x7x5xf32>, tensor<2x4x6xf32>
}
