// The parts of a split do not overlap: writing one leaves the others as they are.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<6xf32> {ptc.input = "x"}) -> tensor<6xf32> {
  // CHECK: %[[C:.*]] = aten.clone.default
  // CHECK: %[[P:.*]]:3 = aten.split.Tensor %[[C]]
  %c = aten.clone.default %x : (tensor<6xf32>) -> tensor<6xf32>
  %p:3 = aten.split.Tensor %c {split_size = 2 : i64} : (tensor<6xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>)
  // CHECK: %[[A:.*]] = aten.add.Tensor %[[P]]#1, %[[P]]#0
  // CHECK: %[[C1:.*]] = aten.slice_scatter.default %[[C]], %[[A]] {dim = 0 : i64, end = 4 : i64, start = 2 : i64}
  %a = aten.add_.Tensor %p#1, %p#0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: %[[B:.*]] = aten.mul.Tensor %[[P]]#2, %[[A]]
  // CHECK: %[[C2:.*]] = aten.slice_scatter.default %[[C1]], %[[B]] {dim = 0 : i64, end = 6 : i64, start = 4 : i64}
  // CHECK-NOT: aten.split
  %b = aten.mul_.Tensor %p#2, %p#1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // CHECK: return %[[C2]]
  return %c : tensor<6xf32>
}
