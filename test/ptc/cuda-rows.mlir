// Rows of two dimensions, whose index is a quotient and a remainder: the epilogue reads and stores 16 bytes at a time all
// the same.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx

// CHECK-NOT: {{(ld|st)}}.global.{{(nc.)?}}b16
// CHECK: ld.global.v4.b32
// CHECK-NOT: {{(ld|st)}}.global.{{(nc.)?}}b16
// CHECK: st.global.v4.b32
// CHECK-NOT: {{(ld|st)}}.global.{{(nc.)?}}b16
module {
  func.func @forward(%x: tensor<64x197x768xf16> {ptc.input = "x"}, %w: tensor<768x768xf16> {ptc.input = "w"}, %r: tensor<64x197x768xf16> {ptc.input = "r"})
      -> (tensor<64x197x768xf16> {ptc.output = "z"}) {
    %y = aten.linear.default %x, %w : (tensor<64x197x768xf16>, tensor<768x768xf16>) -> tensor<64x197x768xf16>
    %z = aten.add.Tensor %y, %r : (tensor<64x197x768xf16>, tensor<64x197x768xf16>) -> tensor<64x197x768xf16>
    return %z : tensor<64x197x768xf16>
  }
}
