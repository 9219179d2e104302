// RUN: ptc-opt %s -fold-scales | FileCheck %s

// A product with bf16x3 weights multiplies its rows by their gates as
// it splits them. Of another one the weights are multiplied, where they are few
// and all rows have the same gates. A scaled tensor that somebody else reads
// stays.

#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#gate = affine_map<(d0, d1, d2) -> (d0, d2, 0)>
#rows = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#any = affine_map<(d0, d1, d2, d3) -> (0, 0, 0, 0, 0, 0)>
#columns = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#one_gate = affine_map<(d0, d1, d2) -> (d2)>
// CHECK: #[[SCALE:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, 0)>
// CHECK: #[[FIRST:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK: #[[MIDDLE:.*]] = affine_map<(d0, d1, d2) -> (d1)>

module {
// CHECK-LABEL: @bf16x3
// CHECK-SAME: %[[X:.*]]: tensor<2x49x64xf32>, %[[G:.*]]: tensor<2x64x1xf32>, %[[W:[^:]*]]
// CHECK-NOT: "mul"
// CHECK: loop.kernel "product" outer 0(%[[X]], %[[W]], %[[G]])
// CHECK: loop.contract scale %{{.*}}[#[[SCALE]]] : tensor<2x64x1xf32>
func.func @bf16x3(%x: tensor<2x49x64xf32>, %g: tensor<2x64x1xf32>, %w: tensor<5x2x3x16x16x2xbf16>)
    -> tensor<2x49x80xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<2x64x1xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#gate](%i, %j, %k) : tensor<2x64x1xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<2x64x1xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<5x2x3x16x16x2xbf16>):
    %c = loop.contract %a[#rows], %b[#any] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_bf16x3, rhs_panel = 16 : i64} : tensor<2x49x64xf32>, tensor<5x2x3x16x16x2xbf16> -> tensor<2x49x80xf32>
    loop.yield %c : tensor<2x49x80xf32>
  } : (tensor<2x49x64xf32>, tensor<5x2x3x16x16x2xbf16>) -> tensor<2x49x80xf32>
  return %1 : tensor<2x49x80xf32>
}

// CHECK-LABEL: @plain
// CHECK: loop.kernel "mul"
// CHECK-NOT: scale
func.func @plain(%x: tensor<2x49x64xf32>, %g: tensor<2x64x1xf32>, %w: tensor<64x80xf32>) -> tensor<2x49x80xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<2x64x1xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#gate](%i, %j, %k) : tensor<2x64x1xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<2x64x1xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64x80xf32>):
    %c = loop.contract %a[#rows], %b[#columns] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } : tensor<2x49x64xf32>, tensor<64x80xf32> -> tensor<2x49x80xf32>
    loop.yield %c : tensor<2x49x80xf32>
  } : (tensor<2x49x64xf32>, tensor<64x80xf32>) -> tensor<2x49x80xf32>
  return %1 : tensor<2x49x80xf32>
}

// CHECK-LABEL: @read_twice
// CHECK: loop.kernel "mul"
// CHECK-NOT: scale
func.func @read_twice(%x: tensor<2x49x64xf32>, %g: tensor<2x64x1xf32>, %w: tensor<5x2x3x16x16x2xbf16>)
    -> (tensor<2x49x80xf32>, tensor<2x49x64xf32>) {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<2x64x1xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#gate](%i, %j, %k) : tensor<2x64x1xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<2x64x1xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<5x2x3x16x16x2xbf16>):
    %c = loop.contract %a[#rows], %b[#any] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_bf16x3, rhs_panel = 16 : i64} : tensor<2x49x64xf32>, tensor<5x2x3x16x16x2xbf16> -> tensor<2x49x80xf32>
    loop.yield %c : tensor<2x49x80xf32>
  } : (tensor<2x49x64xf32>, tensor<5x2x3x16x16x2xbf16>) -> tensor<2x49x80xf32>
  return %1, %0 : tensor<2x49x80xf32>, tensor<2x49x64xf32>
}

// CHECK-LABEL: @weights
// CHECK-SAME: %[[X:.*]]: tensor<2x49x64xf32>, %[[G:.*]]: tensor<64xf32>, %[[W:.*]]: tensor<64x16xf32>
// CHECK: %[[SCALED:.*]] = loop.kernel "mul" outer 2(%[[W]], %[[G]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<64x16xf32>, %[[B:.*]]: tensor<64xf32>)
// CHECK: loop.read %[[B]][#[[FIRST]]]
// CHECK: loop.kernel "product" outer 0(%[[X]], %[[SCALED]])
func.func @weights(%x: tensor<2x49x64xf32>, %g: tensor<64xf32>, %w: tensor<64x16xf32>) -> tensor<2x49x16xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#one_gate](%i, %j, %k) : tensor<64xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<64xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64x16xf32>):
    %c = loop.contract %a[#rows], %b[#columns] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } : tensor<2x49x64xf32>, tensor<64x16xf32> -> tensor<2x49x16xf32>
    loop.yield %c : tensor<2x49x16xf32>
  } : (tensor<2x49x64xf32>, tensor<64x16xf32>) -> tensor<2x49x16xf32>
  return %1 : tensor<2x49x16xf32>
}

// CHECK-LABEL: @packed_weights
// CHECK-SAME: %[[X:.*]]: tensor<2x49x64xf32>, %[[G:.*]]: tensor<64xf32>, %[[W:.*]]: tensor<1x64x16xf32>
// CHECK: %[[SCALED:.*]] = loop.kernel "mul" outer 3(%[[W]], %[[G]])
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<1x64x16xf32>, %[[B:.*]]: tensor<64xf32>)
// CHECK: loop.read %[[B]][#[[MIDDLE]]]
// CHECK: loop.kernel "product" outer 0(%[[X]], %[[SCALED]])
func.func @packed_weights(%x: tensor<2x49x64xf32>, %g: tensor<64xf32>, %w: tensor<1x64x16xf32>) -> tensor<2x49x16xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#one_gate](%i, %j, %k) : tensor<64xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<64xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<1x64x16xf32>):
    %c = loop.contract %a[#rows], %b[#any] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_panel = 16 : i64} : tensor<2x49x64xf32>, tensor<1x64x16xf32> -> tensor<2x49x16xf32>
    loop.yield %c : tensor<2x49x16xf32>
  } : (tensor<2x49x64xf32>, tensor<1x64x16xf32>) -> tensor<2x49x16xf32>
  return %1 : tensor<2x49x16xf32>
}

// CHECK-LABEL: @gates_of_each_image
// CHECK: loop.kernel "mul" outer 3(
// CHECK: tensor<2x49x64xf32>
func.func @gates_of_each_image(%x: tensor<2x49x64xf32>, %g: tensor<2x64x1xf32>, %w: tensor<64x16xf32>) -> tensor<2x49x16xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<2x64x1xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#gate](%i, %j, %k) : tensor<2x64x1xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<2x64x1xf32>) -> tensor<2x49x64xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64x16xf32>):
    %c = loop.contract %a[#rows], %b[#columns] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } : tensor<2x49x64xf32>, tensor<64x16xf32> -> tensor<2x49x16xf32>
    loop.yield %c : tensor<2x49x16xf32>
  } : (tensor<2x49x64xf32>, tensor<64x16xf32>) -> tensor<2x49x16xf32>
  return %1 : tensor<2x49x16xf32>
}

// The scaled weights stand behind what makes them.
// CHECK-LABEL: @weights_made_later
// CHECK: %[[W:.*]] = loop.kernel "make"
// CHECK: %[[SCALED:.*]] = loop.kernel "mul" outer 2(%[[W]], %{{.*}})
// CHECK: loop.kernel "product" outer 0(%{{.*}}, %[[SCALED]])
func.func @weights_made_later(%x: tensor<2x49x64xf32>, %g: tensor<64xf32>, %y: tensor<64x16xf32>)
    -> tensor<2x49x16xf32> {
  %0 = loop.kernel "mul" outer 3 (%x, %g) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index, %k: index):
      %u = loop.read %b[#one_gate](%i, %j, %k) : tensor<64xf32> -> f32
      %v = loop.read %a[#id](%i, %j, %k) : tensor<2x49x64xf32> -> f32
      %p = arith.mulf %u, %v : f32
      loop.yield %p : f32
    } : tensor<2x49x64xf32>
    loop.yield %m : tensor<2x49x64xf32>
  } : (tensor<2x49x64xf32>, tensor<64xf32>) -> tensor<2x49x64xf32>
  %w = loop.kernel "make" outer 2 (%y) {
  ^bb0(%a: tensor<64x16xf32>):
    %m = loop.map {
    ^bb0(%i: index, %j: index):
      %v = loop.read %a[affine_map<(i, j) -> (i, j)>](%i, %j) : tensor<64x16xf32> -> f32
      %p = arith.addf %v, %v : f32
      loop.yield %p : f32
    } : tensor<64x16xf32>
    loop.yield %m : tensor<64x16xf32>
  } : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %1 = loop.kernel "product" outer 0 (%0, %w) {
  ^bb0(%a: tensor<2x49x64xf32>, %b: tensor<64x16xf32>):
    %c = loop.contract %a[#rows], %b[#columns] batch 0 m 2 n 1 k array<i64: 64> {
    ^bb0(%i: index, %j: index, %k: index, %acc: f32):
      loop.yield %acc : f32
    } : tensor<2x49x64xf32>, tensor<64x16xf32> -> tensor<2x49x16xf32>
    loop.yield %c : tensor<2x49x16xf32>
  } : (tensor<2x49x64xf32>, tensor<64x16xf32>) -> tensor<2x49x16xf32>
  return %1 : tensor<2x49x16xf32>
}
}
