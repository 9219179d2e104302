// A loop over a concatenation is cut at its operands' borders: between them no point asks which operand it lies in.
// RUN: ptc compile %s -o %t.ll --emit llvm --march x86-64-v3 && FileCheck %s < %t.ll

// CHECK: define {{.*}}ptc_kernel
// CHECK-COUNT-3: store <16 x float>
func.func @forward(%x: tensor<8x5x64xf32> {ptc.input = "x"}, %y: tensor<8x3x64xf32> {ptc.input = "y"},
                   %z: tensor<8x1x64xf32> {ptc.input = "z"}) -> (tensor<8x9x64xf32> {ptc.output = "w"}) {
  %0 = aten.cat.default %x, %y, %z {dim = 1 : i64} : (tensor<8x5x64xf32>, tensor<8x3x64xf32>, tensor<8x1x64xf32>) -> tensor<8x9x64xf32>
  return %0 : tensor<8x9x64xf32>
}
