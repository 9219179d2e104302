// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// A reduction to one element is cut into a number of parts that its shape
// alone decides, so that threads do not change the result.

// CHECK-LABEL: @static
// CHECK: loop.reduce ["sum"] over array<i64: 20, 1000>
// CHECK: tensor<50xf32>
// CHECK: loop.reduce ["sum"] over array<i64: 50>
// CHECK-LABEL: @dynamic
// CHECK: loop.reduce ["max"]
// CHECK: arith.extf
// CHECK: tensor<25xf32>
// CHECK: loop.reduce ["max"] over array<i64: 25>
// CHECK: arith.truncf
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = -1 : i64}]} {
func.func @static(%x: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = prims.reduce %x {kind = "sum", dims = array<i64: 0, 1>} : (tensor<1000x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @dynamic(%x: tensor<?x4000xbf16, affine_map<()[s0] -> (s0, 4000)>>) -> tensor<bf16> {
  %0 = prims.reduce %x {kind = "max", dims = array<i64: 0, 1>} : (tensor<?x4000xbf16, affine_map<()[s0] -> (s0, 4000)>>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
}
