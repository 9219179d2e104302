// Candidates lie beside an output with a relative path too, and none is left.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/out
// RUN: cd %t && ptc compile y.mlir -o out/y.so --mode max-autotune --march native
// RUN: ls %t/out | FileCheck %s
// CHECK: y.so
// CHECK-NOT: tuning

//--- y.mlir
func.func @forward(%x: tensor<8x64xf32> {ptc.input = "x"}, %w: tensor<64x32xf32> {ptc.input = "w"})
    -> (tensor<8x32xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
