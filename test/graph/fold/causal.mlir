// RUN: ptc-opt %s --causal-masks --split-input-file | FileCheck %s
// Masks of positions that are triangles, whatever says so, are gone, and so is what they were made of.

// CHECK-LABEL: @positions
// CHECK-NOT: prims.iota
// CHECK: prims.attention %arg0, %arg1, %arg2 {causal = true
func.func @positions(%q: tensor<2x3x8x4xf32>, %k: tensor<2x3x8x4xf32>, %v: tensor<2x3x8x4xf32>) -> tensor<2x3x8x4xf32> {
  %i = prims.iota {dim = 0 : i64, dtype = i64, sizes = array<i64: 8>} : () -> tensor<8xi64>
  %zero = prims.full {sizes = array<i64: 2, 8>, value = 0 : i64} : () -> tensor<2x8xi64>
  %batch = prims.constant {value = dense<[0, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %all = prims.broadcast_in_dim %i {dims = array<i64: 1>, sizes = array<i64: 2, 8>} : (tensor<8xi64>) -> tensor<2x8xi64>
  %b = prims.broadcast_in_dim %batch {dims = array<i64: 0>, sizes = array<i64: 2, 1, 8, 1>} : (tensor<2xi64>) -> tensor<2x1x8x1xi64>
  %r = prims.broadcast_in_dim %i {dims = array<i64: 2>, sizes = array<i64: 2, 1, 8, 1>} : (tensor<8xi64>) -> tensor<2x1x8x1xi64>
  %row = prims.gather %all, %b, %r {dims = array<i64: 0, 1>} : (tensor<2x8xi64>, tensor<2x1x8x1xi64>, tensor<2x1x8x1xi64>) -> tensor<2x1x8x1xi64>
  %rows = prims.broadcast_in_dim %row {dims = array<i64: 0, 1, 2, 3>, sizes = array<i64: 2, 1, 8, 8>} : (tensor<2x1x8x1xi64>) -> tensor<2x1x8x8xi64>
  %columns = prims.broadcast_in_dim %i {dims = array<i64: 3>, sizes = array<i64: 2, 1, 8, 8>} : (tensor<8xi64>) -> tensor<2x1x8x8xi64>
  %le = prims.le %columns, %rows : (tensor<2x1x8x8xi64>, tensor<2x1x8x8xi64>) -> tensor<2x1x8x8xi1>
  %sum = prims.scan %zero {dim = 1 : i64, kind = "sum"} : (tensor<2x8xi64>) -> tensor<2x8xi64>
  %s = prims.gather %sum, %b, %r {dims = array<i64: 0, 1>} : (tensor<2x8xi64>, tensor<2x1x8x1xi64>, tensor<2x1x8x1xi64>) -> tensor<2x1x8x1xi64>
  %t = prims.broadcast_in_dim %s {dims = array<i64: 0, 1, 2, 3>, sizes = array<i64: 2, 1, 8, 8>} : (tensor<2x1x8x1xi64>) -> tensor<2x1x8x8xi64>
  %u = prims.full {sizes = array<i64: 2, 1, 8, 8>, value = 0 : i64} : () -> tensor<2x1x8x8xi64>
  %eq = prims.eq %t, %u : (tensor<2x1x8x8xi64>, tensor<2x1x8x8xi64>) -> tensor<2x1x8x8xi1>
  %mask = prims.and %le, %eq : (tensor<2x1x8x8xi1>, tensor<2x1x8x8xi1>) -> tensor<2x1x8x8xi1>
  %0 = prims.attention %q, %k, %v, %mask {causal = false, scale = 1.0 : f64} : (tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x3x8x4xf32>, tensor<2x1x8x8xi1>) -> tensor<2x3x8x4xf32>
  return %0 : tensor<2x3x8x4xf32>
}

// -----

// Of a length that calls decide.
// CHECK-LABEL: @open
// CHECK: prims.attention %arg0, %arg1, %arg2 {causal = true
module attributes {ptc.symbols = [{name = "s", min = 2 : i64, max = 64 : i64}]} {
func.func @open(%q: tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>, %k: tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>, %v: tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>) -> tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>> {
  %i = prims.iota {dim = 0 : i64, dtype = i64, sizes = affine_map<()[s0] -> (s0)>} : () -> tensor<?xi64, affine_map<()[s0] -> (s0)>>
  %rows = prims.broadcast_in_dim %i {dims = array<i64: 0>, sizes = affine_map<()[s0] -> (s0, s0)>} : (tensor<?xi64, affine_map<()[s0] -> (s0)>>) -> tensor<?x?xi64, affine_map<()[s0] -> (s0, s0)>>
  %columns = prims.broadcast_in_dim %i {dims = array<i64: 1>, sizes = affine_map<()[s0] -> (s0, s0)>} : (tensor<?xi64, affine_map<()[s0] -> (s0)>>) -> tensor<?x?xi64, affine_map<()[s0] -> (s0, s0)>>
  %le = prims.le %columns, %rows : (tensor<?x?xi64, affine_map<()[s0] -> (s0, s0)>>, tensor<?x?xi64, affine_map<()[s0] -> (s0, s0)>>) -> tensor<?x?xi1, affine_map<()[s0] -> (s0, s0)>>
  %mask = prims.reshape %le {sizes = affine_map<()[s0] -> (1, s0, s0)>} : (tensor<?x?xi1, affine_map<()[s0] -> (s0, s0)>>) -> tensor<1x?x?xi1, affine_map<()[s0] -> (1, s0, s0)>>
  %0 = prims.attention %q, %k, %v, %mask {causal = false, scale = 1.0 : f64} : (tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>, tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>, tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>, tensor<1x?x?xi1, affine_map<()[s0] -> (1, s0, s0)>>) -> tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>
  return %0 : tensor<1x?x4xf32, affine_map<()[s0] -> (1, s0, 4)>>
}
}

// -----

// Key j < i + 1; and a mask that hides nothing.
// CHECK-LABEL: @others
// CHECK: prims.attention %arg0, %arg1, %arg2 {causal = true
// CHECK: prims.attention %{{.*}}, %arg1, %arg2 {causal = false
func.func @others(%q: tensor<1x8x4xf32>, %k: tensor<1x8x4xf32>, %v: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  %i = prims.iota {dim = 2 : i64, dtype = i64, sizes = array<i64: 1, 8, 8>} : () -> tensor<1x8x8xi64>
  %from = prims.constant {value = dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi64>} : () -> tensor<8xi64>
  %j = prims.broadcast_in_dim %from {dims = array<i64: 1>, sizes = array<i64: 1, 8, 8>} : (tensor<8xi64>) -> tensor<1x8x8xi64>
  %gt = prims.gt %j, %i : (tensor<1x8x8xi64>, tensor<1x8x8xi64>) -> tensor<1x8x8xi1>
  %0 = prims.attention %q, %k, %v, %gt {causal = false, scale = 1.0 : f64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x8xi1>) -> tensor<1x8x4xf32>
  %ones = prims.full {sizes = array<i64: 1, 8, 8>, value = true} : () -> tensor<1x8x8xi1>
  %1 = prims.attention %0, %k, %v, %ones {causal = false, scale = 1.0 : f64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x8xi1>) -> tensor<1x8x4xf32>
  return %1 : tensor<1x8x4xf32>
}

// -----

// Keys before the query alone; a triangle of positions that begin later; one that queries of another dimension make; and
// one that an input says.
// CHECK-LABEL: @kept
// CHECK-COUNT-4: prims.attention {{.*}} {causal = false{{.*}} tensor<2x8x8xi1>)
func.func @kept(%q: tensor<2x8x4xf32>, %k: tensor<2x8x4xf32>, %v: tensor<2x8x4xf32>, %m: tensor<2x8x8xi1>) -> tensor<2x8x4xf32> {
  %columns = prims.iota {dim = 2 : i64, dtype = i64, sizes = array<i64: 2, 8, 8>} : () -> tensor<2x8x8xi64>
  %rows = prims.iota {dim = 1 : i64, dtype = i64, sizes = array<i64: 2, 8, 8>} : () -> tensor<2x8x8xi64>
  %lt = prims.lt %columns, %rows : (tensor<2x8x8xi64>, tensor<2x8x8xi64>) -> tensor<2x8x8xi1>
  %0 = prims.attention %q, %k, %v, %lt {causal = false, scale = 1.0 : f64} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x8xi1>) -> tensor<2x8x4xf32>
  %from = prims.constant {value = dense<[2, 3, 4, 5, 6, 7, 8, 9]> : tensor<8xi64>} : () -> tensor<8xi64>
  %later = prims.broadcast_in_dim %from {dims = array<i64: 1>, sizes = array<i64: 2, 8, 8>} : (tensor<8xi64>) -> tensor<2x8x8xi64>
  %le = prims.le %columns, %later : (tensor<2x8x8xi64>, tensor<2x8x8xi64>) -> tensor<2x8x8xi1>
  %1 = prims.attention %0, %k, %v, %le {causal = false, scale = 1.0 : f64} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x8xi1>) -> tensor<2x8x4xf32>
  %batches = prims.iota {dim = 0 : i64, dtype = i64, sizes = array<i64: 2, 8, 8>} : () -> tensor<2x8x8xi64>
  %of = prims.le %columns, %batches : (tensor<2x8x8xi64>, tensor<2x8x8xi64>) -> tensor<2x8x8xi1>
  %2 = prims.attention %1, %k, %v, %of {causal = false, scale = 1.0 : f64} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x8xi1>) -> tensor<2x8x4xf32>
  %3 = prims.attention %2, %k, %v, %m {causal = false, scale = 1.0 : f64} : (tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x4xf32>, tensor<2x8x8xi1>) -> tensor<2x8x4xf32>
  return %3 : tensor<2x8x4xf32>
}

// -----

// Positions are never below the first one, nor above the last.
// CHECK-LABEL: @bounds
// CHECK-COUNT-2: prims.attention {{.*}} {causal = false, scale = {{[^}]*}}} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>) ->
// CHECK: prims.attention {{.*}} tensor<1x8x8xi1>) ->
func.func @bounds(%q: tensor<1x8x4xf32>, %k: tensor<1x8x4xf32>, %v: tensor<1x8x4xf32>) -> tensor<1x8x4xf32> {
  %i = prims.iota {dim = 1 : i64, dtype = i64, sizes = array<i64: 1, 8, 8>} : () -> tensor<1x8x8xi64>
  %zero = prims.full {sizes = array<i64: 1, 8, 8>, value = 0 : i64} : () -> tensor<1x8x8xi64>
  %ge = prims.ge %i, %zero : (tensor<1x8x8xi64>, tensor<1x8x8xi64>) -> tensor<1x8x8xi1>
  %0 = prims.attention %q, %k, %v, %ge {causal = false, scale = 1.0 : f64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x8xi1>) -> tensor<1x8x4xf32>
  %eight = prims.full {sizes = array<i64: 1, 8, 8>, value = 8 : i64} : () -> tensor<1x8x8xi64>
  %lt = prims.lt %i, %eight : (tensor<1x8x8xi64>, tensor<1x8x8xi64>) -> tensor<1x8x8xi1>
  %1 = prims.attention %0, %k, %v, %lt {causal = false, scale = 1.0 : f64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x8xi1>) -> tensor<1x8x4xf32>
  %seven = prims.full {sizes = array<i64: 1, 8, 8>, value = 7 : i64} : () -> tensor<1x8x8xi64>
  %some = prims.lt %i, %seven : (tensor<1x8x8xi64>, tensor<1x8x8xi64>) -> tensor<1x8x8xi1>
  %2 = prims.attention %1, %k, %v, %some {causal = false, scale = 1.0 : f64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x4xf32>, tensor<1x8x8xi1>) -> tensor<1x8x4xf32>
  return %2 : tensor<1x8x4xf32>
}
