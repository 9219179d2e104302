// x.add_(y) of a wider y computes in y's type and converts, as PyTorch does.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @wider
func.func @wider(%x: tensor<3xf32> {ptc.input = "x"}, %y: tensor<3xf64> {ptc.input = "y"}) {
  // CHECK: %[[S:.*]] = aten.add.Tensor %arg0, %arg1 : (tensor<3xf32>, tensor<3xf64>) -> tensor<3xf64>
  // CHECK: aten.to.dtype %[[S]] {dtype = f32} : (tensor<3xf64>) -> tensor<3xf32>
  %c = aten.add_.Tensor %x, %y : (tensor<3xf32>, tensor<3xf64>) -> tensor<3xf32>
  return
}

// A tensor without dimensions does not widen.
// CHECK-LABEL: func.func @scalar_tensor
func.func @scalar_tensor(%x: tensor<3xf32> {ptc.input = "x"}, %y: tensor<f64> {ptc.input = "y"}) {
  // CHECK: aten.add.Tensor %arg0, %arg1 : (tensor<3xf32>, tensor<f64>) -> tensor<3xf32>
  %c = aten.add_.Tensor %x, %y : (tensor<3xf32>, tensor<f64>) -> tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @comparison
func.func @comparison(%x: tensor<3xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) {
  // CHECK: aten.eq.Tensor %arg0, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  %c = aten.eq_.Tensor %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}
