// Candidates lie beside an output with a relative path too, and none is left.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/out
// RUN: cd %t && ptc compile y.mlir -o out/y.so --mode max-autotune --march native
// RUN: ls %t/out | FileCheck %s
// CHECK-NOT: .ptc-
// CHECK: y.so
// A tuning file that is nested too deeply, or no file, is none.
// RUN: sh -c 'printf "%%060000d" 0 | tr 0 "["' > %t/deep.json
// RUN: not ptc compile %t/y.mlir -o %t/y.so --tuning-file %t/deep.json 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: ptc: error: {{.*}}deep.json: not a tuning file: it is nested too deeply
// RUN: mkfifo %t/fifo && not timeout 60 ptc compile %t/y.mlir -o %t/y.so --tuning-file %t/fifo 2>&1 | FileCheck %s --check-prefix=FIFO
// FIFO: ptc: error: {{.*}}fifo: is not a file

//--- y.mlir
func.func @forward(%x: tensor<8x64xf32> {ptc.input = "x"}, %w: tensor<64x32xf32> {ptc.input = "w"})
    -> (tensor<8x32xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  return %y : tensor<8x32xf32>
}
