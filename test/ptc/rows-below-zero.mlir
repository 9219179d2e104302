// What is known of a number of rows may allow less than none: such a product is planned as others are.
// RUN: ptc explain %s --march x86-64-v3 | FileCheck %s
// RUN: ptc compile %s -o %t.o --emit obj --march x86-64-v3

// CHECK: because: n + -4 x 8 by 8 x 48
module attributes {ptc.symbols = [{max = 1000 : i64, min = 2 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>> {ptc.input = "x"}, %w: tensor<8x48xf32> {ptc.input = "w"})
      -> (tensor<?x48xf32, affine_map<()[s0] -> (s0 - 4, 48)>> {ptc.output = "y"}) {
    %rows = aten.slice.Tensor %x {dim = 0 : i64, start = 4 : i64, end = 9223372036854775807 : i64, step = 1 : i64} : (tensor<?x8xf32, affine_map<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, affine_map<()[s0] -> (s0 - 4, 8)>>
    %y = aten.mm.default %rows, %w : (tensor<?x8xf32, affine_map<()[s0] -> (s0 - 4, 8)>>, tensor<8x48xf32>) -> tensor<?x48xf32, affine_map<()[s0] -> (s0 - 4, 48)>>
    return %y : tensor<?x48xf32, affine_map<()[s0] -> (s0 - 4, 48)>>
  }
}
