// Where the processor multiplies pairs of bf16, contractions and convolutions do; elsewhere each is widened to f32, and so
// where it does that slowly, beside a matrix unit.
// RUN: ptc compile %s -o %t.s --emit asm --march cooperlake && FileCheck %s < %t.s
// RUN: ptc compile %s -o %t.s --emit asm --march znver4 && FileCheck %s < %t.s
// RUN: ptc compile %s -o %t.s --emit asm --march x86-64-v4 && FileCheck %s --check-prefix=WIDENED < %t.s
// RUN: ptc compile %s -o %t.s --emit asm --march sapphirerapids && FileCheck %s --check-prefix=WIDENED < %t.s
// RUN: ptc compile %s -o %t.loop.mlir --emit loop --march znver4 && FileCheck %s --check-prefix=PACKED < %t.loop.mlir

// CHECK: vdpbf16ps
// CHECK: ptc_kernel_convolution
// CHECK: vdpbf16ps
// WIDENED-NOT: vdpbf16ps
// PACKED-DAG: w_group = 2
// PACKED-DAG: -> tensor<1x2x3x3x2x32x2xbf16>
func.func @forward(%x: tensor<64x96xbf16> {ptc.input = "x"}, %w: tensor<96x64xbf16> {ptc.input = "w"},
                   %image: tensor<1x3x8x8xbf16> {ptc.input = "image"}, %kernel: tensor<40x3x3x3xbf16> {ptc.input = "kernel"})
    -> (tensor<64x64xbf16> {ptc.output = "y"}, tensor<1x40x6x6xbf16> {ptc.output = "z"}) {
  %y = aten.mm.default %x, %w : (tensor<64x96xbf16>, tensor<96x64xbf16>) -> tensor<64x64xbf16>
  %z = aten.conv2d.default %image, %kernel : (tensor<1x3x8x8xbf16>, tensor<40x3x3x3xbf16>) -> tensor<1x40x6x6xbf16>
  return %y, %z : tensor<64x64xbf16>, tensor<1x40x6x6xbf16>
}
