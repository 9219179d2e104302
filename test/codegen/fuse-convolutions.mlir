// RUN: ptc-opt %s -fuse-convolutions | FileCheck %s

// A product of a short k whose result leaves L2, and the depthwise convolution
// that alone reads it, become one kernel.

#rows = affine_map<(n, h, w, c, k) -> (n, h, w, k)>
#any = affine_map<(n, h, w, c, k) -> (0, 0, 0)>

module {
// CHECK-LABEL: @expansion
// CHECK-SAME: %[[X:.*]]: tensor<1x112x112x16xf32>, %[[W:.*]]: tensor<4x16x16xf32>, %[[D:.*]]: tensor<3x3x1x64xf32>
// CHECK-NEXT: loop.kernel "k0_product_depthwise" outer 0(%[[X]], %[[W]], %[[D]])
// CHECK: %[[P:.*]] = loop.contract
// CHECK: loop.convolution %[[P]]
// CHECK-NOT: loop.kernel
// CHECK: return
func.func @expansion(%x: tensor<1x112x112x16xf32>, %w: tensor<4x16x16xf32>, %d: tensor<3x3x1x64xf32>) -> tensor<1x56x56x64xf32> {
  %0 = loop.kernel "k0_product" outer 0 (%x, %w) {
  ^bb0(%a: tensor<1x112x112x16xf32>, %b: tensor<4x16x16xf32>):
    %p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: 16> {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_panel = 16 : i64} : tensor<1x112x112x16xf32>, tensor<4x16x16xf32> -> tensor<1x112x112x64xf32>
    loop.yield %p : tensor<1x112x112x64xf32>
  } : (tensor<1x112x112x16xf32>, tensor<4x16x16xf32>) -> tensor<1x112x112x64xf32>
  %1 = loop.kernel "k1_depthwise" outer 0 (%0, %d) {
  ^bb0(%a: tensor<1x112x112x64xf32>, %b: tensor<3x3x1x64xf32>):
    %q = loop.convolution %a, %b {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x56x56x64xf32>
    loop.yield %q : tensor<1x56x56x64xf32>
  } : (tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x56x56x64xf32>
  return %1 : tensor<1x56x56x64xf32>
}

// Arithmetic hides the memory.
// CHECK-LABEL: @long_k
// CHECK: loop.kernel "k0_product" outer
// CHECK: loop.kernel "k1_depthwise" outer
func.func @long_k(%x: tensor<1x112x112x96xf32>, %w: tensor<4x96x16xf32>, %d: tensor<3x3x1x64xf32>) -> tensor<1x56x56x64xf32> {
  %0 = loop.kernel "k0_product" outer 0 (%x, %w) {
  ^bb0(%a: tensor<1x112x112x96xf32>, %b: tensor<4x96x16xf32>):
    %p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: 96> {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_panel = 16 : i64} : tensor<1x112x112x96xf32>, tensor<4x96x16xf32> -> tensor<1x112x112x64xf32>
    loop.yield %p : tensor<1x112x112x64xf32>
  } : (tensor<1x112x112x96xf32>, tensor<4x96x16xf32>) -> tensor<1x112x112x64xf32>
  %1 = loop.kernel "k1_depthwise" outer 0 (%0, %d) {
  ^bb0(%a: tensor<1x112x112x64xf32>, %b: tensor<3x3x1x64xf32>):
    %q = loop.convolution %a, %b {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x56x56x64xf32>
    loop.yield %q : tensor<1x56x56x64xf32>
  } : (tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x56x56x64xf32>
  return %1 : tensor<1x56x56x64xf32>
}

// It stays in L2 anyway.
// CHECK-LABEL: @small
// CHECK: loop.kernel "k0_product" outer
// CHECK: loop.kernel "k1_depthwise" outer
func.func @small(%x: tensor<1x28x28x16xf32>, %w: tensor<4x16x16xf32>, %d: tensor<3x3x1x64xf32>) -> tensor<1x14x14x64xf32> {
  %0 = loop.kernel "k0_product" outer 0 (%x, %w) {
  ^bb0(%a: tensor<1x28x28x16xf32>, %b: tensor<4x16x16xf32>):
    %p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: 16> {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_panel = 16 : i64} : tensor<1x28x28x16xf32>, tensor<4x16x16xf32> -> tensor<1x28x28x64xf32>
    loop.yield %p : tensor<1x28x28x64xf32>
  } : (tensor<1x28x28x16xf32>, tensor<4x16x16xf32>) -> tensor<1x28x28x64xf32>
  %1 = loop.kernel "k1_depthwise" outer 0 (%0, %d) {
  ^bb0(%a: tensor<1x28x28x64xf32>, %b: tensor<3x3x1x64xf32>):
    %q = loop.convolution %a, %b {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x14x14x64xf32>
    loop.yield %q : tensor<1x14x14x64xf32>
  } : (tensor<1x28x28x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x14x14x64xf32>
  return %1 : tensor<1x14x14x64xf32>
}

// CHECK-LABEL: @read_twice
// CHECK: loop.kernel "k0_product" outer
// CHECK: loop.kernel "k1_depthwise" outer
func.func @read_twice(%x: tensor<1x112x112x16xf32>, %w: tensor<4x16x16xf32>, %d: tensor<3x3x1x64xf32>) -> (tensor<1x56x56x64xf32>, tensor<1x112x112x64xf32>) {
  %0 = loop.kernel "k0_product" outer 0 (%x, %w) {
  ^bb0(%a: tensor<1x112x112x16xf32>, %b: tensor<4x16x16xf32>):
    %p = loop.contract %a[#rows], %b[#any] batch 0 m 3 n 1 k array<i64: 16> {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {rhs_panel = 16 : i64} : tensor<1x112x112x16xf32>, tensor<4x16x16xf32> -> tensor<1x112x112x64xf32>
    loop.yield %p : tensor<1x112x112x64xf32>
  } : (tensor<1x112x112x16xf32>, tensor<4x16x16xf32>) -> tensor<1x112x112x64xf32>
  %1 = loop.kernel "k1_depthwise" outer 0 (%0, %d) {
  ^bb0(%a: tensor<1x112x112x64xf32>, %b: tensor<3x3x1x64xf32>):
    %q = loop.convolution %a, %b {
    ^bb0(%n: index, %h: index, %v: index, %c: index, %acc: f32):
      loop.yield %acc : f32
    } {dilations = array<i64: 1, 1>, groups = 64 : i64, high = array<i64: 1, 1>, kernel = array<i64: 3, 3>, low = array<i64: 1, 1>, strides = array<i64: 2, 2>} : tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32> -> tensor<1x56x56x64xf32>
    loop.yield %q : tensor<1x56x56x64xf32>
  } : (tensor<1x112x112x64xf32>, tensor<3x3x1x64xf32>) -> tensor<1x56x56x64xf32>
  return %1, %0 : tensor<1x56x56x64xf32>, tensor<1x112x112x64xf32>
}
}
