// A part of a split that nobody uses may come without a type; its size follows
// from the operator.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<6xf32> {ptc.input = "x"}) {
  // CHECK: aten.slice_scatter.default %arg0, %{{.*}} {dim = 0 : i64, end = 6 : i64, start = 2 : i64}
  %p:2 = aten.split_with_sizes.default %x {split_sizes = array<i64: 2, 4>} : (tensor<6xf32>) -> (none, tensor<4xf32>)
  %n = aten.neg_.default %p#1 : (tensor<4xf32>) -> tensor<4xf32>
  return
}
