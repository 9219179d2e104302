// A convolution that reads planes of channels counts its operations by them.
// RUN: ptc explain %s --json | FileCheck %s

// CHECK: "flops": 7776
func.func @forward(%x: tensor<1x3x8x8xf32> {ptc.input = "x"}, %w: tensor<4x3x3x3xf32> {ptc.input = "w"})
    -> (tensor<1x4x6x6xf32> {ptc.output = "y"}) {
  %y = aten.conv2d.default %x, %w : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}
