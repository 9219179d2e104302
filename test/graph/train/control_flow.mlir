// The derivative of a branch is a branch on the same predicate, whose functions compute what they need again. A function
// that they call is copied: each is called once.
// RUN: ptc-opt %s --build-gradients | FileCheck %s

// CHECK-LABEL: func.func private @square
// CHECK-LABEL: func.func private @same
// CHECK-LABEL: func.func private @inner
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[P:[^:]*]]: tensor<i1>
// CHECK-SAME: %[[X:[^:]*]]: tensor<3xf32>
// CHECK-SAME: %[[Y:[^:]*]]: tensor<3xf32>
// CHECK-SAME: %[[G:[^:]*]]: tensor<3xf32> {ptc.input = "cotangent.0"}
// CHECK: %[[Z:.*]] = control.if %[[P]], @square, @same(%[[X]], %[[Y]])
// CHECK: %[[GRADS:.*]]:2 = control.if %[[P]], @square_gradient, @same_gradient(%[[X]], %[[Y]], %[[G]])
// CHECK: return %[[Z]], %[[GRADS]]#0, %[[GRADS]]#1
// CHECK: func.func private @square_gradient(%[[A:.*]]: tensor<3xf32>, %{{.*}}: tensor<3xf32>, %[[H:.*]]: tensor<3xf32>)
// CHECK-DAG: prims.mul %[[H]], %[[A]]
// CHECK-DAG: prims.full
// CHECK: func.func private @same_gradient
// CHECK: control.if %{{.*}}, @inner_gradient, @other_gradient
// CHECK: func.func private @inner_gradient_gradient
func.func private @square(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %0 = prims.mul %a, %a : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @same(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %zero = prims.full {sizes = array<i64>, value = 0.0 : f32} : () -> tensor<f32>
  %q = prims.reduce %a {kind = "sum", dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  %p = prims.gt %q, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = control.if %p, @inner, @other(%a, %b) : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func private @inner(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  return %b : tensor<3xf32>
}
func.func private @other(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  return %a : tensor<3xf32>
}
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %x: tensor<3xf32> {ptc.input = "x"}, %y: tensor<3xf32> {ptc.input = "y"}) -> (tensor<3xf32> {ptc.output = "z"}) {
  %z = control.if %p, @square, @same(%x, %y) : (tensor<i1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32>
}
