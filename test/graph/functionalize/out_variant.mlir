// An out= argument is written like any other tensor.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: tensor<3xf32> {ptc.writes_input = "out"}
func.func @forward(%x: tensor<3xf32> {ptc.input = "x"}, %out: tensor<3xf32> {ptc.input = "out"}) -> tensor<3xf32> {
  // CHECK: %[[S:.*]] = aten.add.Tensor %arg0, %arg0 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %s = aten.add.out %x, %x, %out : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: return %[[S]], %[[S]]
  return %s : tensor<3xf32>
}
