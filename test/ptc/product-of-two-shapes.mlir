// A product that two readers take under two shapes is computed once, and the compiler settles on one of them.
// RUN: ptc compile %s --emit loop -o %t.mlir && FileCheck %s < %t.mlir
// CHECK-COUNT-1: loop.contract
// CHECK-NOT: loop.contract
func.func @forward(%x: tensor<2x39x8xf32> {ptc.input = "x"}, %w: tensor<8x8xf32> {ptc.input = "w"},
                   %z: tensor<1x2x39x8xf32> {ptc.input = "z"})
    -> (tensor<1x2x39x8xf32> {ptc.output = "y"}, tensor<2x39x8xf32> {ptc.output = "v"}) {
  %0 = aten.matmul.default %x, %w : (tensor<2x39x8xf32>, tensor<8x8xf32>) -> tensor<2x39x8xf32>
  %1 = aten.reshape.default %0 {shape = array<i64: 1, 2, 39, 8>} : (tensor<2x39x8xf32>) -> tensor<1x2x39x8xf32>
  %2 = aten.add.Tensor %1, %z {alpha = 1 : i64} : (tensor<1x2x39x8xf32>, tensor<1x2x39x8xf32>) -> tensor<1x2x39x8xf32>
  %3 = aten.sin.default %0 : (tensor<2x39x8xf32>) -> tensor<2x39x8xf32>
  return %2, %3 : tensor<1x2x39x8xf32>, tensor<2x39x8xf32>
}
