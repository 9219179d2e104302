// t_ changes the tensor's geometry, for all of its names; its memory is not written.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: ) -> tensor<3x2xf32> {
func.func @forward(%x: tensor<2x3xf32> {ptc.input = "x"}) -> tensor<3x2xf32> {
  // CHECK: %[[E:.*]] = aten.exp.default
  %e = aten.exp.default %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.t.default %[[E]]
  %t = aten.t_.default %e : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: %[[R:.*]] = aten.relu.default
  %r = aten.relu_.default %t : (tensor<3x2xf32>) -> tensor<3x2xf32>
  // CHECK: return %[[R]]
  return %t : tensor<3x2xf32>
}
