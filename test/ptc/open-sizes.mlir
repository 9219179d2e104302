// An open size may be 1, as a batch often is: lanes lie along the channels where both will do, though vectors along a large batch would
// all be full.
// RUN: ptc explain %s --march x86-64-v4 | FileCheck %s

// CHECK: (pointwise, loop nest)
// CHECK: because: vectors of 16 along a loop of 24 results
!row = tensor<?x1xf32, affine_map<()[s0] -> (s0, 1)>>
!matrix = tensor<?x24xf32, affine_map<()[s0] -> (s0, 24)>>
module attributes {ptc.symbols = [{name = "batch", min = 0 : i64, max = -1 : i64}]} {
  func.func @forward(%x: !row {ptc.input = "x"}, %c: tensor<24xf32> {ptc.input = "c"}) -> (!matrix {ptc.output = "y"}) {
    %0 = aten.atan2.default %x, %c : (!row, tensor<24xf32>) -> !matrix
    %1 = aten.atan2.default %0, %c : (!matrix, tensor<24xf32>) -> !matrix
    %2 = aten.pow.Tensor_Tensor %1, %c : (!matrix, tensor<24xf32>) -> !matrix
    %3 = aten.lgamma.default %2 : (!matrix) -> !matrix
    %4 = aten.pow.Tensor_Tensor %3, %c : (!matrix, tensor<24xf32>) -> !matrix
    %5 = aten.lgamma.default %4 : (!matrix) -> !matrix
    %6 = aten.atan2.default %5, %c : (!matrix, tensor<24xf32>) -> !matrix
    return %6 : !matrix
  }
}
