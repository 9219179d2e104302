// RUN: ptc-opt %s --simplify | FileCheck %s
// Neutral operands go; arithmetic on full is done.

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = prims.full {value = 1.0 : f32, sizes = array<i64: 4>} : () -> tensor<4xf32>
  %zero = prims.full {value = 0.0 : f32, sizes = array<i64: 4>} : () -> tensor<4xf32>
  %0 = prims.mul %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.sub %0, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// x + 0.0 turns -0.0 into 0.0.
// CHECK-LABEL: @signed_zero
// CHECK: prims.add
func.func @signed_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = prims.full {value = 0.0 : f32, sizes = array<i64: 4>} : () -> tensor<4xf32>
  %0 = prims.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @full
// CHECK-NEXT: prims.full {sizes = array<i64: 4>, value = 2.000000e+00 : f32}
// CHECK-NEXT: return
func.func @full() -> tensor<4xf32> {
  %a = prims.full {value = 4.0 : f32, sizes = array<i64>} : () -> tensor<f32>
  %0 = prims.sqrt %a : (tensor<f32>) -> tensor<f32>
  %1 = prims.broadcast_in_dim %0 {sizes = array<i64: 4>, dims = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @conversions
// CHECK-NEXT: return %arg0
func.func @conversions(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = prims.convert %x {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = prims.convert %0 {dtype = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// Rounding to bf16 and back is not nothing.
// CHECK-LABEL: @lossy_conversions
// CHECK-COUNT-2: prims.convert
func.func @lossy_conversions(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = prims.convert %x {dtype = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = prims.convert %0 {dtype = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A softmax has no use for subnormal numbers.
// CHECK-LABEL: @softmax
// CHECK: prims.exp {{.*}}flush
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = prims.reduce %x {kind = "max", dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
  %1 = prims.broadcast_in_dim %0 {sizes = array<i64: 3, 4>, dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x4xf32>
  %2 = prims.sub %x, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = prims.exp %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// The largest number is somewhere else.
// CHECK-LABEL: @no_softmax
// CHECK: prims.exp
// CHECK-NOT: flush
// CHECK: return
func.func @no_softmax(%x: tensor<3x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = prims.reduce %y {kind = "max", dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
  %1 = prims.broadcast_in_dim %0 {sizes = array<i64: 3, 4>, dims = array<i64: 0>} : (tensor<3xf32>) -> tensor<3x4xf32>
  %2 = prims.sub %x, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = prims.exp %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}
