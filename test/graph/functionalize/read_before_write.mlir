// What was read before a write keeps the old value.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = aten.exp.default %arg0
  %a = aten.exp.default %x : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[OLD:.*]] = aten.sin.default %[[A]]
  %old = aten.sin.default %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[R:.*]] = aten.relu.default %[[A]]
  %r = aten.relu_.default %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[NEW:.*]] = aten.sin.default %[[R]]
  %new = aten.sin.default %a : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %[[OLD]], %[[NEW]]
  return %old, %new : tensor<4xf32>, tensor<4xf32>
}
