// LLVM 22 takes the lower half alone of a shift's amount of 64 bits where a select compares it with 64: both are looked at.
// Of 32 bits PTX's own shift does what the select says.
// RUN: ptc compile %s --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s
// RUN: sed 's/i64/i32/g;s/array<i32/array<i64/' %s > %t.mlir
// RUN: ptc compile %t.mlir --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s --check-prefix=WORD

// CHECK-DAG: setp.lt.u64
// CHECK-DAG: shl.b64
// CHECK-DAG: selp.b64
// CHECK-DAG: shr.s64
// WORD-NOT: selp
// WORD: shl.b32
func.func @forward(%x: tensor<7xi64> {ptc.input = "x"}, %n: tensor<7xi64> {ptc.input = "n"})
    -> (tensor<7xi64> {ptc.output = "left"}, tensor<7xi64> {ptc.output = "right"}) {
  %0 = prims.shl %x, %n : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  %1 = prims.shr %x, %n : (tensor<7xi64>, tensor<7xi64>) -> tensor<7xi64>
  return %0, %1 : tensor<7xi64>, tensor<7xi64>
}
