// In training attention keeps its rows' log-sum-exp, and its derivative no scores, where the device has a kernel for that;
// otherwise nothing of it is there.
// RUN: ptc compile %s --train --emit prims -o %t.mlir && FileCheck %s < %t.mlir
// RUN: ptc compile %s --train --target cuda --emit prims -o %t.mlir && FileCheck %s --check-prefix=PARTS < %t.mlir
// RUN: ptc compile %s --emit prims -o %t.mlir && FileCheck %s --check-prefix=PLAIN < %t.mlir

// CHECK: prims.attention %{{.*}}with_logsumexp
// CHECK: prims.attention_gradient
// PARTS-NOT: logsumexp
// PARTS: prims.contract
// PLAIN: prims.attention
// PLAIN-NOT: logsumexp
func.func @forward(%q: tensor<1x2x5x8xf32> {ptc.input = "q"}, %k: tensor<1x2x7x8xf32> {ptc.input = "k"}) -> (tensor<1x2x5x8xf32> {ptc.output = "y"}) {
  %y = aten.scaled_dot_product_attention.default %q, %k, %k : (tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}
