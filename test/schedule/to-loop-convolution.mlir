// A convolution whose weight has a dynamic size is a contraction over the kernel's places, whose rows overlap.
// RUN: ptc-opt %s --to-loop | FileCheck %s

// CHECK-DAG: #[[LHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d4)>
// CHECK-DAG: #[[RHS:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d3, d4, d2)>

// CHECK-LABEL: @kernel_is_open
// CHECK: loop.contract %arg0[#[[LHS]]], %arg1[#[[RHS]]] batch 0 m 2 n 1
func.func @kernel_is_open(%x: tensor<2x19x3xf32>, %w: tensor<?x3x8xf32, affine_map<()[s0] -> (s0, 3, 8)>>)
    -> tensor<2x?x8xf32, affine_map<()[s0] -> (2, (-s0 + 19) floordiv 2 + 1, 8)>> {
  %y = prims.convolution %x, %w {strides = array<i64: 2>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = true}
    : (tensor<2x19x3xf32>, tensor<?x3x8xf32, affine_map<()[s0] -> (s0, 3, 8)>>) -> tensor<2x?x8xf32, affine_map<()[s0] -> (2, (-s0 + 19) floordiv 2 + 1, 8)>>
  return %y : tensor<2x?x8xf32, affine_map<()[s0] -> (2, (-s0 + 19) floordiv 2 + 1, 8)>>
}

// CHECK-LABEL: @template
// CHECK: loop.convolution %arg0, %arg1
func.func @template(%x: tensor<?x19x3xf32, affine_map<()[s0] -> (s0, 19, 3)>>, %w: tensor<5x3x8xf32>) -> tensor<?x15x8xf32, affine_map<()[s0] -> (s0, 15, 8)>> {
  %y = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = true}
    : (tensor<?x19x3xf32, affine_map<()[s0] -> (s0, 19, 3)>>, tensor<5x3x8xf32>) -> tensor<?x15x8xf32, affine_map<()[s0] -> (s0, 15, 8)>>
  return %y : tensor<?x15x8xf32, affine_map<()[s0] -> (s0, 15, 8)>>
}

// Pixels of few channels are read from the planes that they lie in, not from a copy.
// CHECK-LABEL: @planes(%arg0
// CHECK: loop.convolution %arg0,
// CHECK: x_channels_first
func.func @planes(%x: tensor<1x3x19xf32>, %w: tensor<8x3x5xf32>) -> tensor<1x8x15xf32> {
  %y = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = false}
    : (tensor<1x3x19xf32>, tensor<8x3x5xf32>) -> tensor<1x8x15xf32>
  return %y : tensor<1x8x15xf32>
}

// CHECK-LABEL: @pixels
// CHECK-NOT: x_channels_first
func.func @pixels(%x: tensor<1x8x19xf32>, %w: tensor<8x8x5xf32>) -> tensor<1x8x15xf32> {
  %y = prims.convolution %x, %w {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = false}
    : (tensor<1x8x19xf32>, tensor<8x8x5xf32>) -> tensor<1x8x15xf32>
  return %y : tensor<1x8x15xf32>
}
