// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Batch normalisation with the batch's statistics: one kernel for both
// statistics of a channel, one that normalises.

// CHECK: loop.kernel {{.*}} outer 1
// CHECK-COUNT-2: loop.reduce ["sum"] over array<i64: 8, 16, 16>
// CHECK: math.rsqrt
// CHECK: loop.kernel {{.*}} outer 4
// CHECK-NOT: loop.kernel
func.func @forward(%x: tensor<8x64x16x16xf32>) -> tensor<8x64x16x16xf32> {
  %n = prims.full {value = 2048.0 : f32, sizes = array<i64: 64>} : () -> tensor<64xf32>
  %s = prims.reduce %x {kind = "sum", dims = array<i64: 0, 2, 3>} : (tensor<8x64x16x16xf32>) -> tensor<64xf32>
  %m = prims.div %s, %n : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %mb = prims.broadcast_in_dim %m {sizes = array<i64: 8, 64, 16, 16>, dims = array<i64: 1>} : (tensor<64xf32>) -> tensor<8x64x16x16xf32>
  %d = prims.sub %x, %mb : (tensor<8x64x16x16xf32>, tensor<8x64x16x16xf32>) -> tensor<8x64x16x16xf32>
  %q = prims.mul %d, %d : (tensor<8x64x16x16xf32>, tensor<8x64x16x16xf32>) -> tensor<8x64x16x16xf32>
  %v = prims.reduce %q {kind = "sum", dims = array<i64: 0, 2, 3>} : (tensor<8x64x16x16xf32>) -> tensor<64xf32>
  %vv = prims.div %v, %n : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %r = prims.rsqrt %vv : (tensor<64xf32>) -> tensor<64xf32>
  %rb = prims.broadcast_in_dim %r {sizes = array<i64: 8, 64, 16, 16>, dims = array<i64: 1>} : (tensor<64xf32>) -> tensor<8x64x16x16xf32>
  %y = prims.mul %d, %rb : (tensor<8x64x16x16xf32>, tensor<8x64x16x16xf32>) -> tensor<8x64x16x16xf32>
  return %y : tensor<8x64x16x16xf32>
}
