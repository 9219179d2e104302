// RUN: ptc-opt %s -plan-memory | FileCheck %s

#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#only = affine_map<(n, h, w, c) -> (0, h, w, c)>
#rows = affine_map<(n, h, w, c, k) -> (n, h, w, k)>
#any = affine_map<(n, h, w, c, k) -> (0, 0, 0)>

module {
// A dimension of one has one place, whatever a map calls it.
// CHECK-LABEL: @one_place
// CHECK: loop.kernel "update"
// CHECK: in_place = array<i64: 0>
func.func @one_place(%x: tensor<1x99x99x32xf32> {ptc.state = "x"}) -> (tensor<1x99x99x32xf32> {ptc.writes_state = "x"}) {
  %0 = loop.kernel "update" outer 4 (%x) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %w: index, %c: index):
      %v = loop.read %a[#only](%n, %h, %w, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.addf %v, %v : f32
      loop.yield %s : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  return %0 : tensor<1x99x99x32xf32>
}

// CHECK-LABEL: @pointwise
// CHECK: loop.kernel "first"
// CHECK: loop.kernel "second"
// CHECK: in_place = array<i64: 0>
func.func @pointwise(%x: tensor<1x99x99x32xf32>) -> (tensor<1x99x99x32xf32> {ptc.output = "y"}) {
  %0 = loop.kernel "first" outer 4 (%x) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %w: index, %c: index):
      %v = loop.read %a[#id](%n, %h, %w, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.addf %v, %v : f32
      loop.yield %s : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  %1 = loop.kernel "second" outer 4 (%0) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %w: index, %c: index):
      %v = loop.read %a[#id](%n, %h, %w, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.mulf %v, %v : f32
      loop.yield %s : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  %2 = loop.kernel "third" outer 4 (%1) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %w: index, %c: index):
      %v = loop.read %a[#id](%n, %h, %w, %c) : tensor<1x99x99x32xf32> -> f32
      loop.yield %v : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  return %2 : tensor<1x99x99x32xf32>
}

// What the product of a fused convolution adds is read again where bands meet.
// CHECK-LABEL: @fused
// CHECK-NOT: in_place
// CHECK: return
func.func @fused(%x: tensor<1x99x99x32xf32>, %y: tensor<1x99x99x32xf32>, %w: tensor<1x16x16xf32>, %d: tensor<3x3x1x32xf32>) -> (tensor<1x99x99x32xf32> {ptc.output = "y"}) {
  %0 = loop.kernel "sum" outer 4 (%y) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %v: index, %c: index):
      %u = loop.read %a[#id](%n, %h, %v, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.addf %u, %u : f32
      loop.yield %s : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  %1 = loop.kernel "fused" outer 0 (%x, %w, %0, %d) {
  ^bb0(%a: tensor<1x99x99x32xf32>, %b: tensor<1x16x16xf32>, %r: tensor<1x99x99x32xf32>, %e: tensor<3x3x1x32xf32>):
    %p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: 16> {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      %u = loop.read %r[#id](%n, %h, %v, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.addf %u, %acc : f32
      loop.yield %s : f32
    } {rhs_panel = 16 : i64} : tensor<1x99x99x32xf32>, tensor<1x16x16xf32> -> tensor<1x99x99x32xf32>
    %q = loop.convolution %p, %e {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {dilations = array<i64: 1, 1>, groups = 16 : i64, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, low = array<i64: 1, 1>, strides = array<i64: 1, 1>} : tensor<1x99x99x32xf32>, tensor<3x3x1x32xf32> -> tensor<1x99x99x32xf32>
    loop.yield %q : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>, tensor<1x16x16xf32>, tensor<1x99x99x32xf32>, tensor<3x3x1x32xf32>) -> tensor<1x99x99x32xf32>
  %2 = loop.kernel "last" outer 4 (%1) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %v: index, %c: index):
      %u = loop.read %a[#id](%n, %h, %v, %c) : tensor<1x99x99x32xf32> -> f32
      loop.yield %u : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  return %2 : tensor<1x99x99x32xf32>
}

// What a loop carries is written over by its next value, but not where it is the next value of something else.
// CHECK-LABEL: @body
// CHECK: loop.kernel "row"
// CHECK: in_place = array<i64: 0>
func.func private @body(%all: tensor<8xf32> {ptc.carried = "0"}, %i: tensor<i64>) -> (tensor<8xf32> {ptc.carries = "0"}) {
  %0 = loop.kernel "row" outer 0 (%all, %i) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<i64>):
    %m = loop.scatter %a "set" over array<i64: 1> {
    ^bb0(%k: index):
      %v = arith.constant 1.0 : f32
      %n = loop.read %b[affine_map<() -> ()>]() : tensor<i64> -> i64
      %p = arith.index_cast %n : i64 to index
      loop.yield %v, %p : f32, index
    } : tensor<8xf32> -> tensor<8xf32>
    loop.yield %m : tensor<8xf32>
  } : (tensor<8xf32>, tensor<i64>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @shifted
// CHECK-NOT: in_place
// CHECK: return
func.func private @shifted(%x: tensor<1x99x99x32xf32> {ptc.carried = "0"}, %y: tensor<1x99x99x32xf32> {ptc.carried = "1"}) -> (tensor<1x99x99x32xf32> {ptc.carries = "0"}, tensor<1x99x99x32xf32> {ptc.carries = "1"}) {
  %0 = loop.kernel "negated" outer 4 (%x) {
  ^bb0(%a: tensor<1x99x99x32xf32>):
    %m = loop.map {
    ^bb0(%n: index, %h: index, %v: index, %c: index):
      %u = loop.read %a[#id](%n, %h, %v, %c) : tensor<1x99x99x32xf32> -> f32
      %s = arith.negf %u : f32
      loop.yield %s : f32
    } : tensor<1x99x99x32xf32>
    loop.yield %m : tensor<1x99x99x32xf32>
  } : (tensor<1x99x99x32xf32>) -> tensor<1x99x99x32xf32>
  return %0, %x : tensor<1x99x99x32xf32>, tensor<1x99x99x32xf32>
}

// What fits the caches is not written over.
// CHECK-LABEL: @small
// CHECK-NOT: in_place
func.func @small(%x: tensor<64x24xf32>) -> (tensor<64x24xf32> {ptc.output = "y"}) {
  %0 = loop.kernel "first" outer 2 (%x) {
  ^bb0(%a: tensor<64x24xf32>):
    %m = loop.map {
    ^bb0(%r: index, %c: index):
      %v = loop.read %a[affine_map<(r, c) -> (r, c)>](%r, %c) : tensor<64x24xf32> -> f32
      %s = arith.addf %v, %v : f32
      loop.yield %s : f32
    } : tensor<64x24xf32>
    loop.yield %m : tensor<64x24xf32>
  } : (tensor<64x24xf32>) -> tensor<64x24xf32>
  %1 = loop.kernel "second" outer 2 (%0) {
  ^bb0(%a: tensor<64x24xf32>):
    %m = loop.map {
    ^bb0(%r: index, %c: index):
      %v = loop.read %a[affine_map<(r, c) -> (r, c)>](%r, %c) : tensor<64x24xf32> -> f32
      %s = arith.mulf %v, %v : f32
      loop.yield %s : f32
    } : tensor<64x24xf32>
    loop.yield %m : tensor<64x24xf32>
  } : (tensor<64x24xf32>) -> tensor<64x24xf32>
  %2 = loop.kernel "third" outer 2 (%1) {
  ^bb0(%a: tensor<64x24xf32>):
    %m = loop.map {
    ^bb0(%r: index, %c: index):
      %v = loop.read %a[affine_map<(r, c) -> (r, c)>](%r, %c) : tensor<64x24xf32> -> f32
      loop.yield %v : f32
    } : tensor<64x24xf32>
    loop.yield %m : tensor<64x24xf32>
  } : (tensor<64x24xf32>) -> tensor<64x24xf32>
  return %2 : tensor<64x24xf32>
}
}
