// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Heads that are cut out of a projection, and keys that are repeated for each
// query head of a group, stay where they are: index maps read them.

// CHECK: #[[Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * 16 + d3)>
// CHECK: #[[K:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK: loop.kernel
// CHECK: loop.attention %{{.*}}[#[[Q]]], %{{.*}}[#[[K]]], %{{.*}}[#[[K]]]
// CHECK: group = 4
// CHECK: tensor<2x5x128xf32>, tensor<2x2x5x16xf32>, tensor<2x2x5x16xf32>
// CHECK-NOT: loop.kernel
func.func @forward(%q: tensor<2x5x128xf32>, %k: tensor<2x2x5x16xf32>) -> tensor<2x8x5x16xf32> {
  %0 = prims.reshape %q {sizes = array<i64: 2, 5, 8, 16>} : (tensor<2x5x128xf32>) -> tensor<2x5x8x16xf32>
  %1 = prims.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x8x16xf32>) -> tensor<2x8x5x16xf32>
  %2 = prims.broadcast_in_dim %k {sizes = array<i64: 2, 2, 4, 5, 16>, dims = array<i64: 0, 1, 3, 4>} : (tensor<2x2x5x16xf32>) -> tensor<2x2x4x5x16xf32>
  %3 = prims.reshape %2 {sizes = array<i64: 2, 8, 5, 16>} : (tensor<2x2x4x5x16xf32>) -> tensor<2x8x5x16xf32>
  %4 = prims.attention %1, %3, %3 {scale = 0.25, causal = true} : (tensor<2x8x5x16xf32>, tensor<2x8x5x16xf32>, tensor<2x8x5x16xf32>) -> tensor<2x8x5x16xf32>
  return %4 : tensor<2x8x5x16xf32>
}
