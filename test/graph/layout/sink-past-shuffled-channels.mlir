// Groups of channels are shuffled where they lie, channels last: only they change places before the reshape, and what makes
// the image's channels first goes on behind it, past the concatenation, to meet the next convolution. (As in ShuffleNet.)
// RUN: ptc-opt %s --choose-layout --simplify | FileCheck %s

// CHECK: prims.convolution
// CHECK: prims.reshape {{.*}} -> tensor<7x5x1x2x3xf32>
// CHECK: prims.transpose {{.*}} -> tensor<7x5x1x3x2xf32>
// CHECK-NOT: tensor<1x6x7x5xf32>
// CHECK: prims.concatenate {{.*}} -> tensor<7x5x1x9xf32>
// CHECK-NOT: tensor<1x9x7x5xf32>
// CHECK: prims.convolution {{.*}} (tensor<1x7x5x9xf32>
func.func @forward(%x: tensor<1x3x7x5xf32> {ptc.input = "x"}, %w: tensor<6x3x1x1xf32> {ptc.weight = "w"},
                   %u: tensor<3x3x1x1xf32> {ptc.weight = "u"}, %v: tensor<4x9x1x1xf32> {ptc.weight = "v"})
    -> (tensor<1x4x7x5xf32> {ptc.output = "y"}) {
  %a = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x3x7x5xf32>, tensor<6x3x1x1xf32>) -> tensor<1x6x7x5xf32>
  %groups = prims.reshape %a {sizes = array<i64: 1, 2, 3, 7, 5>} : (tensor<1x6x7x5xf32>) -> tensor<1x2x3x7x5xf32>
  %swapped = prims.transpose %groups {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x7x5xf32>) -> tensor<1x3x2x7x5xf32>
  %shuffled = prims.reshape %swapped {sizes = array<i64: 1, 6, 7, 5>} : (tensor<1x3x2x7x5xf32>) -> tensor<1x6x7x5xf32>
  %b = prims.convolution %x, %u {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x3x7x5xf32>, tensor<3x3x1x1xf32>) -> tensor<1x3x7x5xf32>
  %all = prims.concatenate %shuffled, %b {dim = 1 : i64} : (tensor<1x6x7x5xf32>, tensor<1x3x7x5xf32>) -> tensor<1x9x7x5xf32>
  %y = prims.convolution %all, %v {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x9x7x5xf32>, tensor<4x9x1x1xf32>) -> tensor<1x4x7x5xf32>
  return %y : tensor<1x4x7x5xf32>
}
