// RUN: ptc-opt %s | ptc-opt | FileCheck %s

// Every operation of the dialect prints in a form that parses to the same.

#id2 = affine_map<(d0, d1) -> (d0, d1)>

// CHECK-LABEL: func.func @map
func.func @map(%x: tensor<4x8xf32>, %i: tensor<4xi64>) -> tensor<4x8xf32> {
  // CHECK: loop.kernel "k0_map" outer 2(%{{.*}}, %{{.*}}) {
  %0 = loop.kernel "k0_map" outer 2 (%x, %i) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<4xi64>):
    // CHECK: loop.map {
    %1 = loop.map {
    ^bb0(%p: index, %q: index):
      // CHECK: loop.read %{{.*}}[#{{.*}}] (%{{.*}}) : tensor<4xi64> -> i64
      %2 = loop.read %b[affine_map<(d0) -> (d0)>](%p) : tensor<4xi64> -> i64
      // CHECK: loop.checked_index %{{.*}} : i64 in 4 : i64
      %3 = loop.checked_index %2 : i64 in 4 : i64
      // CHECK: loop.index{{ ?}}[#{{.*}}]{{ ?}}(%{{.*}})
      %4 = loop.index [affine_map<(d0) -> (d0 floordiv 2)>](%q)
      %5 = arith.constant 0.0 : f32
      %6 = arith.cmpi slt, %4, %3 : index
      // CHECK: loop.read {{.*}} where %{{.*}} else %{{.*}} : f32 : tensor<4x8xf32> -> f32
      %7 = loop.read %a[#id2](%3, %q) where %6 else %5 : f32 : tensor<4x8xf32> -> f32
      loop.yield %7 : f32
    } : tensor<4x8xf32>
    loop.yield %1 : tensor<4x8xf32>
  } {in_place = array<i64: 0>} : (tensor<4x8xf32>, tensor<4xi64>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x8xbf16>) -> (tensor<4xbf16>, tensor<4xi64>, tensor<4x8xbf16>) {
  // CHECK: loop.reduce ["sum"] over array<i64: 8> {
  // CHECK: } finish {
  %0 = loop.reduce ["sum"] over array<i64: 8> {
  ^bb0(%i: index, %r: index):
    %1 = loop.read %x[#id2](%i, %r) : tensor<4x8xbf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    loop.yield %2 : f32
  } finish {
  ^bb0(%i: index, %s: f32):
    %1 = arith.truncf %s : f32 to bf16
    loop.yield %1 : bf16
  } : tensor<4xbf16>
  // CHECK: loop.reduce ["argmax"] over array<i64: 8> {
  // CHECK-NOT: finish
  %3 = loop.reduce ["argmax"] over array<i64: 8> {
  ^bb0(%i: index, %r: index):
    %1 = loop.read %x[#id2](%i, %r) : tensor<4x8xbf16> -> bf16
    loop.yield %1 : bf16
  } : tensor<4xi64>
  // CHECK: loop.scan "sum" along 1 {
  %4 = loop.scan "sum" along 1 {
  ^bb0(%i: index, %r: index):
    %1 = loop.read %x[#id2](%i, %r) : tensor<4x8xbf16> -> bf16
    %2 = arith.extf %1 : bf16 to f32
    loop.yield %2 : f32
  } : tensor<4x8xbf16>
  return %0, %3, %4 : tensor<4xbf16>, tensor<4xi64>, tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @scatter_sort
func.func @scatter_sort(%x: tensor<4x8xf32>, %u: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: loop.scatter %{{.*}} "sum" over array<i64: 8> {
  %0 = loop.scatter %x "sum" over array<i64: 8> {
  ^bb0(%i: index):
    %1 = loop.read %u[affine_map<(d0) -> (d0)>](%i) : tensor<8xf32> -> f32
    %2 = arith.constant 1 : index
    loop.yield %1, %2, %i : f32, index, index
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: loop.sort %{{.*}} {descending = true, dim = 1 : i64}
  %v, %p = loop.sort %0 {dim = 1 : i64, descending = true} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  return %0, %v : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @templates
func.func @templates(%a: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, %b: tensor<8x16xf32>,
                     %x: tensor<1x9x9x3xf32>, %w: tensor<3x3x3x4xf32>, %q: tensor<2x5x6xf32>, %l: tensor<2x5xf32>) {
  // CHECK: loop.contract %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}] batch 0 m 1 n 1 k array<i64: 8> {
  %0 = loop.contract %a[affine_map<(d0, d1, d2) -> (d0, d2)>], %b[affine_map<(d0, d1, d2) -> (d2, d1)>]
      batch 0 m 1 n 1 k array<i64: 8> {
  ^bb0(%m: index, %n: index, %acc: f32):
    loop.yield %acc : f32
  } : tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>, tensor<8x16xf32>
      -> tensor<?x16xf32, affine_map<()[s0] -> (s0, 16)>>
  // CHECK: loop.convolution %{{.*}}, %{{.*}} {
  // CHECK: w_panel = 4 : i64
  %1 = loop.convolution %x, %w {
  ^bb0(%n: index, %h: index, %v: index, %o: index, %acc: f32):
    loop.yield %acc : f32
  } {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, kernel = array<i64: 3, 3>, w_panel = 4 : i64}
    : tensor<1x9x9x3xf32>, tensor<3x3x3x4xf32> -> tensor<1x7x7x4xf32>
  // CHECK: loop.attention %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}] {
  %2 = loop.attention %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>], %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>] {
  ^bb0(%h: index, %i: index, %e: index, %acc: f32):
    loop.yield %acc : f32
  } {scale = 1.0, causal = false, key_size = 5 : i64, head_size = 6 : i64, group = 1 : i64}
    : tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32> -> tensor<2x5x6xf32>
  // CHECK: loop.attention_gradient %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}, %{{.*}} {
  %dq, %dk, %dv = loop.attention_gradient %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>], %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>], %l, %l {scale = 1.0, causal = false, group = 1 : i64}
    : tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5xf32>, tensor<2x5xf32>
      -> tensor<1x2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>
  return
}
