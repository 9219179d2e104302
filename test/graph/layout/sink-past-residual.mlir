// A residual that lies channels first, as an input does, does not bring all blocks behind it back to that order: it is
// added as the convolution that reads it has it, or transposed where a convolution reads the sum.
// RUN: ptc-opt %s --choose-layout --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @read
// CHECK: %[[X:.*]] = prims.transpose %arg0
// CHECK: %[[CONV:.*]] = prims.convolution %[[X]]
// CHECK: %[[SUM:.*]] = prims.add %[[CONV]], %[[X]]
// CHECK: %[[RESULT:.*]] = prims.transpose %[[SUM]]
// CHECK: return %[[RESULT]]
func.func @read(%x: tensor<1x4x6x5xf32> {ptc.input = "x"}, %w: tensor<4x4x1x1xf32> {ptc.weight = "w"})
    -> (tensor<1x4x6x5xf32> {ptc.output = "y"}) {
  %conv = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x6x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %y = prims.add %conv, %x : (tensor<1x4x6x5xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  return %y : tensor<1x4x6x5xf32>
}

// -----

// CHECK-LABEL: func.func @wanted
// CHECK: %[[CONV:.*]] = prims.convolution
// CHECK: %[[R:.*]] = prims.transpose %arg1
// CHECK: %[[SUM:.*]] = prims.add %[[CONV]], %[[R]]
// CHECK: %[[EXP:.*]] = prims.exp %[[SUM]]
// CHECK: prims.convolution %[[EXP]]
func.func @wanted(%x: tensor<1x4x6x5xf32> {ptc.input = "x"}, %r: tensor<1x4x6x5xf32> {ptc.input = "r"},
                  %w: tensor<4x4x1x1xf32> {ptc.weight = "w"}) -> (tensor<1x4x6x5xf32> {ptc.output = "y"}) {
  %conv = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x6x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %sum = prims.add %conv, %r : (tensor<1x4x6x5xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  %exp = prims.exp %sum : (tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  %y = prims.convolution %exp, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x6x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  return %y : tensor<1x4x6x5xf32>
}

// -----

// Nothing needs this sum channels last.
// CHECK-LABEL: func.func @unwanted
// CHECK: %[[CONV:.*]] = prims.convolution
// CHECK: %[[BACK:.*]] = prims.transpose %[[CONV]]
// CHECK: %[[SUM:.*]] = prims.add %[[BACK]], %arg1
// CHECK: return %[[SUM]]
func.func @unwanted(%x: tensor<1x4x6x5xf32> {ptc.input = "x"}, %r: tensor<1x4x6x5xf32> {ptc.input = "r"},
                    %w: tensor<4x4x1x1xf32> {ptc.weight = "w"}) -> (tensor<1x4x6x5xf32> {ptc.output = "y"}) {
  %conv = prims.convolution %x, %w {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x6x5xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x6x5xf32>
  %y = prims.add %conv, %r : (tensor<1x4x6x5xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x5xf32>
  return %y : tensor<1x4x6x5xf32>
}
