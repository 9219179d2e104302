// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Two products meet in one epilogue. The other product's sums are rounded when they are stored, not when they are read.

// CHECK: loop.kernel
// CHECK: loop.contract
// CHECK: ^bb0({{.*}}, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to f16
// CHECK-NEXT: loop.yield %[[ROUNDED]] : f16
// CHECK: -> tensor<64x96xf16>
// CHECK: loop.kernel
// CHECK: loop.contract
// CHECK: %[[READ:.*]] = loop.read {{.*}} : tensor<64x96xf16> -> f16
// CHECK: arith.extf %[[READ]]
func.func @forward(%x: tensor<64x32xf16>, %v: tensor<32x96xf16>, %w: tensor<32x96xf16>) -> tensor<64x96xf16> {
  %0 = prims.contract %x, %v {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf16>, tensor<32x96xf16>) -> tensor<64x96xf32>
  %1 = prims.convert %0 {dtype = f16} : (tensor<64x96xf32>) -> tensor<64x96xf16>
  %2 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 0>} : (tensor<64x32xf16>, tensor<32x96xf16>) -> tensor<64x96xf32>
  %3 = prims.convert %2 {dtype = f16} : (tensor<64x96xf32>) -> tensor<64x96xf16>
  %4 = prims.mul %1, %3 : (tensor<64x96xf16>, tensor<64x96xf16>) -> tensor<64x96xf16>
  return %4 : tensor<64x96xf16>
}
