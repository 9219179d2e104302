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

// The mean of an image's channels: bands of rows, which threads that wrote them
// read, not columns. Where all of the image is read again by the same channels,
// the kernel stays whole.

// CHECK-LABEL: @pixels
// CHECK: loop.reduce ["sum"] over array<i64: 2, 28>
// CHECK: tensor<14x1x96xf32>
// CHECK: loop.reduce ["sum"] over array<i64: 14>
// CHECK: tensor<1x96xf32>
// CHECK-LABEL: @subtracted
// CHECK: loop.reduce ["sum"] over array<i64: 28, 28>
// CHECK-NOT: loop.reduce
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = -1 : i64}]} {
func.func @static(%x: tensor<1000x1000xf32>) -> tensor<f32> {
  %0 = prims.reduce %x {kind = "sum", dims = array<i64: 0, 1>} : (tensor<1000x1000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}
func.func @dynamic(%x: tensor<?x4000xbf16, affine_map<()[s0] -> (s0, 4000)>>) -> tensor<bf16> {
  %0 = prims.reduce %x {kind = "max", dims = array<i64: 0, 1>} : (tensor<?x4000xbf16, affine_map<()[s0] -> (s0, 4000)>>) -> tensor<bf16>
  return %0 : tensor<bf16>
}
func.func @pixels(%x: tensor<1x28x28x96xf32>) -> tensor<1x96xf32> {
  %0 = prims.reduce %x {kind = "sum", dims = array<i64: 1, 2>} : (tensor<1x28x28x96xf32>) -> tensor<1x96xf32>
  return %0 : tensor<1x96xf32>
}
func.func @subtracted(%x: tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32> {
  %0 = prims.reduce %x {kind = "sum", dims = array<i64: 1, 2>} : (tensor<1x28x28x96xf32>) -> tensor<1x96xf32>
  %1 = prims.broadcast_in_dim %0 {sizes = array<i64: 1, 28, 28, 96>, dims = array<i64: 0, 3>} : (tensor<1x96xf32>) -> tensor<1x28x28x96xf32>
  %2 = prims.sub %x, %1 : (tensor<1x28x28x96xf32>, tensor<1x28x28x96xf32>) -> tensor<1x28x28x96xf32>
  return %2 : tensor<1x28x28x96xf32>
}
}
