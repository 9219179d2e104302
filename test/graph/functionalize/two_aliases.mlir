// Two views of one memory: a write through one is seen through the other, where
// they overlap.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> tensor<3xf32> {
  // CHECK: %[[E:.*]] = aten.exp.default
  %e = aten.exp.default %x : (tensor<4xf32>) -> tensor<4xf32>
  %a = aten.slice.Tensor %e {end = 3 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  %b = aten.slice.Tensor %e {start = 1 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  // CHECK: %[[W:.*]] = aten.neg.default
  // CHECK: %[[E2:.*]] = aten.slice_scatter.default %[[E]], %[[W]] {end = 3 : i64}
  %w = aten.neg_.default %a : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK: %[[B2:.*]] = aten.slice.Tensor %[[E2]] {start = 1 : i64}
  // CHECK: aten.add.Tensor %[[B2]], %[[W]]
  %c = aten.add_.Tensor %b, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %b : tensor<3xf32>
}
