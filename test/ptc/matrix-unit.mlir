// Where the machine multiplies tiles of bf16, a contraction of f32 that is large enough is six products of pieces a step;
// in f32 it is done again where results are not finite. A small one is not worth splitting.
// RUN: ptc compile %s -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc compile %s -o %t.4.s --emit asm --march x86-64-v4 && FileCheck %s --check-prefix=NONE < %t.4.s

// CHECK: ldtilecfg
// CHECK-COUNT-24: tdpbf16ps
// CHECK: tilestored
// CHECK: vfmadd231ps
// CHECK: tilerelease
// CHECK-NOT: tdpbf16ps
// NONE-NOT: tdpbf16ps
func.func @forward(%x: tensor<1024x128xf32> {ptc.input = "x"}) -> (tensor<1024x64xf32> {ptc.output = "y"}) {
  %a = aten.arange.default {end = 4096.0 : f64, dtype = f32} : () -> tensor<4096xf32>
  %b = aten.view.default %a {size = array<i64: 32, 128>} : (tensor<4096xf32>) -> tensor<32x128xf32>
  %c = aten.cat.default %b, %b : (tensor<32x128xf32>, tensor<32x128xf32>) -> tensor<64x128xf32>
  %w = aten.cat.default %c, %c : (tensor<64x128xf32>, tensor<64x128xf32>) -> tensor<128x128xf32>
  %v = aten.slice.Tensor %w {dim = 1 : i64, start = 64 : i64} : (tensor<128x128xf32>) -> tensor<128x64xf32>
  %0 = aten.mm.default %x, %w : (tensor<1024x128xf32>, tensor<128x128xf32>) -> tensor<1024x128xf32>
  %1 = aten.mm.default %0, %v : (tensor<1024x128xf32>, tensor<128x64xf32>) -> tensor<1024x64xf32>
  return %1 : tensor<1024x64xf32>
}
