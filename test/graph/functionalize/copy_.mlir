// copy_ is the source itself, converted and expanded as far as it must be.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @same_type
func.func @same_type(%x: tensor<3xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) {
  // CHECK-NOT: aten
  // CHECK: return %arg1
  %c = aten.copy_.default %x, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// CHECK-LABEL: func.func @converted
func.func @converted(%x: tensor<2x3xf32> {ptc.input = "x"}, %y: tensor<3xf64> {ptc.input = "y"}) {
  // CHECK: %[[T:.*]] = aten.to.dtype %arg1 {dtype = f32} : (tensor<3xf64>) -> tensor<3xf32>
  // CHECK: %[[E:.*]] = aten.expand.default %[[T]] {size = array<i64: 2, 3>}
  // CHECK: return %[[E]]
  %c = aten.copy_.default %x, %y : (tensor<2x3xf32>, tensor<3xf64>) -> tensor<2x3xf32>
  return
}
