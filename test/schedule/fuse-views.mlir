// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Concatenation, slice, transpose and reshapes vanish into index maps, and so
// do the guards that sizes decide.

// CHECK-DAG: #[[T:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK: loop.map
// CHECK-NEXT: ^bb0
// CHECK-NEXT: loop.read %{{.*}}[#[[T]]] {{.*}} : tensor<4x16xf32> -> f32
// CHECK-NEXT: arith.negf
// CHECK: loop.checked_index {{.*}} in 4
// CHECK: loop.read {{.*}} where {{.*}} : tensor<4x8xf32>
// CHECK: loop.read {{.*}} where {{.*}} : tensor<4x16xf32>
func.func @forward(%a: tensor<4x8xf32>, %b: tensor<4x16xf32>, %i: tensor<3xi64>) -> (tensor<8x4xf32>, tensor<3x24xf32>) {
  %0 = prims.concatenate %a, %b {dim = 1 : i64} : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<4x24xf32>
  %1 = prims.slice %0 {starts = array<i64: 0, 8>, limits = array<i64: 4, 16>, strides = array<i64: 1, 1>} : (tensor<4x24xf32>) -> tensor<4x8xf32>
  %2 = prims.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = prims.reshape %2 {sizes = array<i64: 32>} : (tensor<8x4xf32>) -> tensor<32xf32>
  %4 = prims.reshape %3 {sizes = array<i64: 8, 4>} : (tensor<32xf32>) -> tensor<8x4xf32>
  %5 = prims.neg %4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %6 = prims.gather %0, %i {dims = array<i64: 0>} : (tensor<4x24xf32>, tensor<3xi64>) -> tensor<3x24xf32>
  return %5, %6 : tensor<8x4xf32>, tensor<3x24xf32>
}
