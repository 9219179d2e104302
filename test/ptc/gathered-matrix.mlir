// Vectors times matrices chosen by data, one after the other: lanes lie along the matrices' rows, whichever they are, and
// nothing but those is read by vectors.
// RUN: ptc compile %s -o %t.s --emit asm --march x86-64-v4 && FileCheck %s < %t.s

// CHECK-NOT: vgather
// CHECK: vmulps
// CHECK-NOT: vgather
func.func @forward(%w: tensor<4x704x256xf32> {ptc.input = "w"}, %v: tensor<4x256x704xf32> {ptc.input = "v"},
                   %which: tensor<32xi64> {ptc.input = "which"}, %x: tensor<32x256x1xf32> {ptc.input = "x"})
    -> (tensor<32x256x1xf32> {ptc.output = "y"}) {
  %m = aten.index_select.default %w, %which {dim = 0 : i64} : (tensor<4x704x256xf32>, tensor<32xi64>) -> tensor<32x704x256xf32>
  %n = aten.index_select.default %v, %which {dim = 0 : i64} : (tensor<4x256x704xf32>, tensor<32xi64>) -> tensor<32x256x704xf32>
  %h = aten.bmm.default %m, %x : (tensor<32x704x256xf32>, tensor<32x256x1xf32>) -> tensor<32x704x1xf32>
  %r = aten.relu.default %h : (tensor<32x704x1xf32>) -> tensor<32x704x1xf32>
  %y = aten.bmm.default %n, %r : (tensor<32x256x704xf32>, tensor<32x704x1xf32>) -> tensor<32x256x1xf32>
  return %y : tensor<32x256x1xf32>
}
