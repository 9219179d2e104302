// RUN: ptc-opt --lower-complex --split-input-file %s | FileCheck %s

// A complex argument has its parts side by side, as they lie in memory.
// CHECK-LABEL: func.func @multiply(
// CHECK-SAME: tensor<3x2xf32> {ptc.complex, ptc.input = "x"}
// CHECK-SAME: -> (tensor<3x2xf32> {ptc.complex, ptc.output = "y"})
// CHECK: prims.sub
// CHECK: prims.add
// CHECK: prims.concatenate
func.func @multiply(%x: tensor<3xcomplex<f32>> {ptc.input = "x"}) -> (tensor<3xcomplex<f32>> {ptc.output = "y"}) {
  %0 = prims.mul %x, %x : (tensor<3xcomplex<f32>>, tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  return %0 : tensor<3xcomplex<f32>>
}

// -----

// What has a real result does not stay behind; what is real already is not touched.
// CHECK-LABEL: func.func @magnitude(
// CHECK-NOT: complex<f32>
// CHECK: prims.sqrt
// CHECK: return {{.*}} : tensor<3xf32>
func.func @magnitude(%x: tensor<3xcomplex<f32>> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  %0 = prims.abs %x : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Elements move part by part.
// CHECK-LABEL: func.func @turn(
// CHECK-COUNT-2: prims.transpose {{.*}} (tensor<2x3xf32>) -> tensor<3x2xf32>
func.func @turn(%x: tensor<2x3xcomplex<f32>> {ptc.input = "x"}) -> (tensor<3x2xcomplex<f32>> {ptc.output = "y"}) {
  %0 = prims.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>
  return %0 : tensor<3x2xcomplex<f32>>
}
