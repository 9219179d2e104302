// An operator that the table does not have is kept as it is, for ptc explain.
// RUN: ptc-opt %s | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: aten.mystery.default %arg0 {anything = "goes"} : (tensor<4xf32>) -> tensor<4xf32>
  %y = aten.mystery.default %x {anything = "goes"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: aten.custom.mylib.scale.default
  %z = aten.custom.mylib.scale.default %y : (tensor<4xf32>) -> tensor<4xf32>
  // Control flow carries its branches.
  // CHECK: aten.higher_order.cond %{{.*}} ({
  %w = aten.higher_order.cond %z ({
    %a = aten.relu.default %z : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %a : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %w : tensor<4xf32>
}
