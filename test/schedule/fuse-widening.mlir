// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// What a norm reads in f32 is stored as the f16 that it was rounded to: readers widen it, which costs them nothing, and
// it takes half the memory.

// CHECK: loop.contract
// CHECK: %[[SUM:.*]] = arith.addf
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK: loop.yield %[[ROUNDED]] : f16
// CHECK: -> tensor<64x96xf16>
// CHECK: loop.reduce
// CHECK: loop.read {{.*}} : tensor<64x96xf16> -> f16
// CHECK-NEXT: arith.extf
func.func @forward(%x: tensor<64x32xf16>, %w: tensor<32x96xf16>, %r: tensor<64x96xf16>) -> tensor<64x96xf32> {
  %0 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf16>, tensor<32x96xf16>) -> tensor<64x96xf32>
  %c = prims.convert %0 {dtype = f16} : (tensor<64x96xf32>) -> tensor<64x96xf16>
  %1 = prims.add %c, %r : (tensor<64x96xf16>, tensor<64x96xf16>) -> tensor<64x96xf16>
  %2 = prims.convert %1 {dtype = f32} : (tensor<64x96xf16>) -> tensor<64x96xf32>
  %3 = prims.reduce %2 {kind = "sum", dims = array<i64: 1>} : (tensor<64x96xf32>) -> tensor<64xf32>
  %4 = prims.broadcast_in_dim %3 {sizes = array<i64: 64, 96>, dims = array<i64: 0>} : (tensor<64xf32>) -> tensor<64x96xf32>
  %5 = prims.sub %2, %4 : (tensor<64x96xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
  return %5 : tensor<64x96xf32>
}
