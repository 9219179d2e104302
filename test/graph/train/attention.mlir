// Attention that gives its rows' log-sum-exp has a derivative without the scores; by a mask, and without log-sum-exp, there
// is only the one by parts.
// RUN: ptc-opt %s --split-input-file --build-gradients --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x5x8xbf16> {{.*}}, %[[K:.*]]: tensor<1x2x6x8xbf16> {{.*}}, %[[V:.*]]: tensor<1x2x6x3xbf16> {{.*}}, %[[M:.*]]: tensor<1x1x5x6xi1> {{.*}}, %[[G:.*]]: tensor<1x4x5x3xbf16>
// CHECK: %[[Y:.*]], %[[L:.*]] = prims.attention %[[Q]], %[[K]], %[[V]], %[[M]]
// CHECK: %[[D:.*]] = prims.reduce %{{.*}} {dims = array<i64: 3>, kind = "sum"} : (tensor<1x4x5x3xf32>) -> tensor<1x4x5xf32>
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = prims.attention_gradient %[[Q]], %[[K]], %[[V]], %[[G]], %[[L]], %[[D]], %[[M]] {causal = true, scale = 5.000000e-01 : f64}
// CHECK-SAME: -> (tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16>)
// CHECK-NOT: prims.contract
// CHECK: return %[[Y]], %[[DQ]], %[[DK]], %[[DV]]
func.func @forward(%q: tensor<1x4x5x8xbf16> {ptc.input = "q"}, %k: tensor<1x2x6x8xbf16> {ptc.input = "k"},
                 %v: tensor<1x2x6x3xbf16> {ptc.input = "v"}, %m: tensor<1x1x5x6xi1> {ptc.input = "m"})
    -> (tensor<1x4x5x3xbf16> {ptc.output = "y"}) {
  %y, %l = prims.attention %q, %k, %v, %m {causal = true, scale = 0.5, with_logsumexp} : (tensor<1x4x5x8xbf16>, tensor<1x2x6x8xbf16>, tensor<1x2x6x3xbf16>, tensor<1x1x5x6xi1>) -> (tensor<1x4x5x3xbf16>, tensor<1x4x5xf32>)
  return %y : tensor<1x4x5x3xbf16>
}

// -----

// The cotangent of log-sum-exp is less of what the weights have in common.
// CHECK-LABEL: func.func @forward
// CHECK: %[[Y:.*]], %[[L:.*]] = prims.attention
// CHECK: %[[D:.*]] = prims.sub %{{.*}}, %arg2 :
// CHECK: prims.attention_gradient %arg0, %arg0, %arg0, %{{.*}}, %[[L]], %[[D]]
func.func @forward(%x: tensor<2x5x8xf32> {ptc.input = "x"})
    -> (tensor<2x5x8xf32> {ptc.output = "y"}, tensor<2x5xf32> {ptc.output = "l"}) {
  %y, %l = prims.attention %x, %x, %x {causal = false, scale = 1.0, with_logsumexp} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5xf32>)
  return %y, %l : tensor<2x5x8xf32>, tensor<2x5xf32>
}

// -----

// CHECK-LABEL: func.func @forward
// CHECK-NOT: prims.attention_gradient
// CHECK: prims.contract
func.func @forward(%x: tensor<2x5x8xf32> {ptc.input = "x"}, %m: tensor<1x5x5xf32> {ptc.input = "m"})
    -> (tensor<2x5x8xf32> {ptc.output = "y"}) {
  %y, %l = prims.attention %x, %x, %x, %m {causal = false, scale = 1.0, with_logsumexp} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<1x5x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5xf32>)
  return %y : tensor<2x5x8xf32>
}

// -----

// A mask that nobody asks for a derivative by.
// CHECK-LABEL: func.func @forward
// CHECK: prims.attention_gradient
// CHECK-NOT: prims.contract
func.func @forward(%x: tensor<2x5x8xf32> {ptc.input = "x"}, %m: tensor<1x5x5xf32> {ptc.weight = "m"})
    -> (tensor<2x5x8xf32> {ptc.output = "y"}) {
  %y, %l = prims.attention %x, %x, %x, %m {causal = false, scale = 1.0, with_logsumexp} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<1x5x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5xf32>)
  return %y : tensor<2x5x8xf32>
}

// -----

// CHECK-LABEL: func.func @forward
// CHECK-NOT: prims.attention_gradient
// CHECK: prims.contract
func.func @forward(%x: tensor<2x5x8xf32> {ptc.input = "x"}) -> (tensor<2x5x8xf32> {ptc.output = "y"}) {
  %y = prims.attention %x, %x, %x {causal = false, scale = 1.0} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

func.func @forward(%x: tensor<2x5x8xf32> {ptc.input = "x"}, %l: tensor<2x5xf32> {ptc.input = "l"}) -> (tensor<2x5x8xf32> {ptc.output = "y"}) {
  // expected-error @+1 {{prims.attention_gradient has no derivative here: second derivatives of attention are not supported}}
  %y:3 = prims.attention_gradient %x, %x, %x, %x, %l, %l {causal = false, scale = 1.0} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return %y#0 : tensor<2x5x8xf32>
}
