// x[1:] += y changes the input: its last value is a result.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: -> (tensor<4xf32> {ptc.output = "z"}, tensor<4xf32> {ptc.writes_input = "x"})
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) -> (tensor<4xf32> {ptc.output = "z"}) {
  // CHECK: %[[V:.*]] = aten.slice.Tensor %arg0 {start = 1 : i64}
  // CHECK: %[[W:.*]] = aten.add.Tensor %[[V]], %arg1 {alpha = 2 : i64}
  // CHECK: %[[X:.*]] = aten.slice_scatter.default %arg0, %[[W]] {start = 1 : i64}
  %v = aten.slice.Tensor %x {start = 1 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  %w = aten.add_.Tensor %v, %y {alpha = 2 : i64} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // A read of x after the write.
  // CHECK: %[[Z:.*]] = aten.relu.default %[[X]]
  %z = aten.relu.default %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %[[Z]], %[[X]]
  return %z : tensor<4xf32>
}
