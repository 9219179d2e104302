// A write through a view of a view goes up to the base, and a sibling view that
// is read afterwards shows it.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4x3xf32> {ptc.input = "x"}) -> tensor<12xf32> {
  // CHECK: %[[B:.*]] = aten.exp.default %arg0
  // CHECK: %[[T:.*]] = aten.transpose.int %[[B]] {dim0 = 0 : i64, dim1 = 1 : i64}
  // CHECK: %[[S:.*]] = aten.select.int %[[T]] {dim = 1 : i64, index = 2 : i64}
  %b = aten.exp.default %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %t = aten.transpose.int %b {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %s = aten.select.int %t {dim = 1 : i64, index = 2 : i64} : (tensor<3x4xf32>) -> tensor<3xf32>
  %flat = aten.view.default %b {size = array<i64: 12>} : (tensor<4x3xf32>) -> tensor<12xf32>
  // CHECK: %[[N:.*]] = aten.neg.default %[[S]]
  // CHECK: %[[T2:.*]] = aten.select_scatter.default %[[T]], %[[N]] {dim = 1 : i64, index = 2 : i64}
  // CHECK: %[[B2:.*]] = aten.transpose.int %[[T2]] {dim0 = 0 : i64, dim1 = 1 : i64}
  %n = aten.neg_.default %s : (tensor<3xf32>) -> tensor<3xf32>
  // CHECK: %[[F:.*]] = aten.view.default %[[B2]] {size = array<i64: 12>}
  // CHECK: return %[[F]]
  return %flat : tensor<12xf32>
}
