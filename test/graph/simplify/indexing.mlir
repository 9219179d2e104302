// RUN: ptc-opt %s --simplify | FileCheck %s

// CHECK-LABEL: @slice_of_concatenation
// CHECK-NEXT: return %arg1
func.func @slice_of_concatenation(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = prims.concatenate %a, %b {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  %1 = prims.slice %0 {starts = array<i64: 0, 3>, limits = array<i64: 2, 7>, strides = array<i64: 1, 1>} : (tensor<2x7xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: @pad_of_convolution
// CHECK-NOT: prims.pad
// CHECK: prims.convolution {{.*}}high = array<i64: 2, 2>{{.*}}low = array<i64: 1, 1>
func.func @pad_of_convolution(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x9x9xf32> {
  %zero = prims.full {value = 0.0 : f32, sizes = array<i64>} : () -> tensor<f32>
  %0 = prims.pad %x, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 2, 2>, interior = array<i64: 0, 0, 0, 0>} : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x11x11xf32>
  %1 = prims.convolution %0, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x3x11x11xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x9x9xf32>
  return %1 : tensor<1x4x9x9xf32>
}
