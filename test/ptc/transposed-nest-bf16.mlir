// Tiles of halves are transposed, too, as lanes of 32 bits; here they become halves on the way.
// RUN: ptc compile %s -o %t.s --emit asm --march x86-64-v4 && FileCheck %s < %t.s

// CHECK-NOT: gather
// CHECK-NOT: scatter
// CHECK-NOT: vpextrw
// CHECK: vpmovdw
func.func @forward(%x: tensor<100x1000xf32> {ptc.input = "x"}) -> (tensor<1000x100xbf16> {ptc.output = "y"}) {
  %t = aten.t.default %x : (tensor<100x1000xf32>) -> tensor<1000x100xf32>
  %y = aten.to.dtype %t {dtype = bf16} : (tensor<1000x100xf32>) -> tensor<1000x100xbf16>
  return %y : tensor<1000x100xbf16>
}
