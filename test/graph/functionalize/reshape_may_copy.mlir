// reshape is a view where PyTorch makes one: of a contiguous tensor, but not of
// a transposed one when dimensions merge.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @view
func.func @view(%x: tensor<2x3xf32> {ptc.input = "x"}) -> tensor<6xf32> {
  %r = aten.reshape.default %x {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: %[[N:.*]] = aten.neg.default %arg0
  %n = aten.neg_.default %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: aten.reshape.default %[[N]]
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @copy
func.func @copy(%x: tensor<2x3xf32> {ptc.input = "x"}) -> tensor<6xf32> {
  %t = aten.t.default %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: %[[R:.*]] = aten.reshape.default
  %r = aten.reshape.default %t {shape = array<i64: 6>} : (tensor<3x2xf32>) -> tensor<6xf32>
  // CHECK: %[[N:.*]] = aten.neg.default %arg0
  %n = aten.neg_.default %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: return %[[R]], %[[N]]
  return %r : tensor<6xf32>
}
