// RUN: ptc-opt --lower-float8 --split-input-file --verify-diagnostics %s | FileCheck %s

// A byte is looked up; what the caller sees is in the role.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: tensor<3xui8> {ptc.float8 = f8E4M3FN, ptc.input = "x"}
// CHECK: prims.gather
// CHECK: return {{.*}} : tensor<3xf32>
func.func @decode(%x: tensor<3xf8E4M3FN> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  %0 = prims.convert %x {dtype = f32} : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// What is converted there and back is read as the byte that it has become.
// CHECK-LABEL: func.func @round(
// CHECK: prims.round
// CHECK: prims.convert {{.*}} -> tensor<3xui8>
// CHECK: prims.gather
func.func @round(%x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  %0 = prims.convert %x {dtype = f8E4M3FN} : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  %1 = prims.convert %0 {dtype = f32} : (tensor<3xf8E4M3FN>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// Elements move as bytes.
// CHECK-LABEL: func.func @move(
// CHECK-SAME: -> (tensor<3x2xui8> {ptc.float8 = f8E5M2, ptc.output = "y"})
// CHECK: prims.transpose {{.*}} -> tensor<3x2xui8>
func.func @move(%x: tensor<2x3xf8E5M2> {ptc.input = "x"}) -> (tensor<3x2xf8E5M2> {ptc.output = "y"}) {
  %0 = prims.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2>
  return %0 : tensor<3x2xf8E5M2>
}

// -----

func.func @add(%x: tensor<3xf8E5M2> {ptc.input = "x"}) -> (tensor<3xf8E5M2> {ptc.output = "y"}) {
  // expected-error @below {{prims.add of eight-bit floats is not supported (convert them to float32)}}
  %0 = prims.add %x, %x : (tensor<3xf8E5M2>, tensor<3xf8E5M2>) -> tensor<3xf8E5M2>
  return %0 : tensor<3xf8E5M2>
}
