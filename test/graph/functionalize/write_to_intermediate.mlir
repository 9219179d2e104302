// A write to a view of an intermediate stays inside the program.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: ) -> tensor<2x3xf32> {
func.func @forward(%x: tensor<2x3xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) -> tensor<2x3xf32> {
  // CHECK: %[[E:.*]] = aten.exp.default %arg0
  %e = aten.exp.default %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %r = aten.select.int %e {dim = 0 : i64, index = 1 : i64} : (tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK: %[[S:.*]] = aten.select_scatter.default %[[E]], %{{.*}} {dim = 0 : i64, index = 1 : i64}
  %w = aten.mul_.Tensor %r, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  // CHECK: return %[[S]] : tensor<2x3xf32>
  return %e : tensor<2x3xf32>
}
