// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// A softmax is one kernel: three passes over a row, of which only the last
// writes memory, and one exponential for each element.

// CHECK: loop.kernel {{.*}} outer 1
// CHECK: loop.reduce ["max"]
// CHECK: loop.map
// CHECK: math.exp
// CHECK: loop.reduce ["sum"]
// CHECK-NOT: math.exp
// CHECK: %[[Y:.*]] = loop.map
// CHECK: arith.divf
// CHECK: loop.yield %[[Y]] : tensor<64x512xf32>
// CHECK-NOT: loop.kernel
func.func @forward(%x: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %m = prims.reduce %x {kind = "max", dims = array<i64: 1>} : (tensor<64x512xf32>) -> tensor<64xf32>
  %mb = prims.broadcast_in_dim %m {sizes = array<i64: 64, 512>, dims = array<i64: 0>} : (tensor<64xf32>) -> tensor<64x512xf32>
  %d = prims.sub %x, %mb : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  %e = prims.exp %d : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %s = prims.reduce %e {kind = "sum", dims = array<i64: 1>} : (tensor<64x512xf32>) -> tensor<64xf32>
  %sb = prims.broadcast_in_dim %s {sizes = array<i64: 64, 512>, dims = array<i64: 0>} : (tensor<64xf32>) -> tensor<64x512xf32>
  %r = prims.div %e, %sb : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  return %r : tensor<64x512xf32>
}
