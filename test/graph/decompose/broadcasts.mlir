// RUN: ptc-opt --decompose %s | FileCheck %s
// Operands of a prim have one shape: smaller ones are broadcast, and a size that is symbolic is not taken for 1.

// CHECK-LABEL: @static
func.func @static(%x: tensor<4x3xf32>, %y: tensor<3xf32>) -> tensor<4x3xf32> {
  // CHECK: %[[Y:.*]] = prims.broadcast_in_dim %{{.*}} {dims = array<i64: 1>, sizes = array<i64: 4, 3>}
  // CHECK: prims.add %{{.*}}, %[[Y]]
  %0 = aten.add.Tensor %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  return %0 : tensor<4x3xf32>
}

#s0 = affine_map<()[s0] -> (s0, 3)>
// CHECK-LABEL: @symbolic
func.func @symbolic(%x: tensor<?x3xf32, #s0>, %y: tensor<1x3xf32>) -> tensor<?x3xf32, #s0> {
  // CHECK: prims.broadcast_in_dim %arg1
  // CHECK: prims.mul
  %0 = aten.mul.Tensor %x, %y : (tensor<?x3xf32, #s0>, tensor<1x3xf32>) -> tensor<?x3xf32, #s0>
  return %0 : tensor<?x3xf32, #s0>
}
