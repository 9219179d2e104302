// Accumulators stay in registers over the products: a bias or constants of the epilogue that are read before the loop
// leave none for them, and each step would store and load tiles.
// RUN: ptc compile %s -o %t.s --emit asm --march x86-64-v4 && FileCheck %s < %t.s

// CHECK: vfmadd231ps
// CHECK-NOT: (%rsp)
// CHECK: {{jb|jl|jne}}
func.func @forward(%x: tensor<196x256xf32> {ptc.input = "x"}, %w: tensor<256x1024xf32> {ptc.input = "w"},
                   %b: tensor<1024xf32> {ptc.input = "b"}, %s: tensor<1024xf32> {ptc.input = "s"},
                   %r: tensor<196x1024xf32> {ptc.input = "r"}) -> (tensor<196x1024xf32> {ptc.output = "y"}) {
  %0 = aten.mm.default %x, %w : (tensor<196x256xf32>, tensor<256x1024xf32>) -> tensor<196x1024xf32>
  %1 = aten.mul.Tensor %0, %s : (tensor<196x1024xf32>, tensor<1024xf32>) -> tensor<196x1024xf32>
  %2 = aten.add.Tensor %1, %b : (tensor<196x1024xf32>, tensor<1024xf32>) -> tensor<196x1024xf32>
  %3 = aten.add.Tensor %2, %r : (tensor<196x1024xf32>, tensor<196x1024xf32>) -> tensor<196x1024xf32>
  %4 = aten.hardswish.default %3 : (tensor<196x1024xf32>) -> tensor<196x1024xf32>
  return %4 : tensor<196x1024xf32>
}
