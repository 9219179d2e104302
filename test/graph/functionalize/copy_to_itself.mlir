// x[1:] += y is exported as an addition in place and a copy of the view to
// itself: the second is no write.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) {
  // CHECK: %[[X:.*]] = aten.slice_scatter.default
  // CHECK-NOT: aten
  // CHECK: return %[[X]]
  %v = aten.slice.Tensor %x {start = 1 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  %a = aten.add_.Tensor %v, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %w = aten.slice.Tensor %x {start = 1 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  %c = aten.copy_.default %w, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
