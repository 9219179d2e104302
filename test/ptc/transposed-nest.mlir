// A transpose, and what is computed on its way, moves no element alone: tiles are transposed in registers.
// RUN: ptc compile %s -o %t.s --emit asm --march x86-64-v4 && FileCheck %s < %t.s

// CHECK-NOT: gather
// CHECK-NOT: scatter
func.func @forward(%x: tensor<100x1000xf32> {ptc.input = "x"}) -> (tensor<1000x100xf32> {ptc.output = "y"}) {
  %t = aten.t.default %x : (tensor<100x1000xf32>) -> tensor<1000x100xf32>
  %y = aten.relu.default %t : (tensor<1000x100xf32>) -> tensor<1000x100xf32>
  return %y : tensor<1000x100xf32>
}
