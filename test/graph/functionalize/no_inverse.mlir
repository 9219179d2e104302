// A view without an inverse is written through by the positions of its elements.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) {
  // CHECK: %[[V:.*]] = aten.as_strided.default %arg0
  %v = aten.as_strided.default %x {size = array<i64: 2>, stride = array<i64: 2>, storage_offset = 1 : i64} : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: %[[N:.*]] = aten.neg.default %[[V]]
  // CHECK: %[[I:.*]] = aten.arange.default {end = 4 : i64} : () -> tensor<4xi64>
  // CHECK: %[[P:.*]] = aten.as_strided.default %[[I]] {{.*}} -> tensor<2xi64>
  // CHECK: %[[R:.*]] = aten.index_put.default %arg0, %[[P]], %[[N]] {indices_present = array<i1: true>}
  // CHECK: return %[[R]]
  %n = aten.neg_.default %v : (tensor<2xf32>) -> tensor<2xf32>
  return
}
