// LLVM narrows what it widened by a function of compiler-rt, which the runtime has: such a kernel did not link where the
// processor has no instructions for bfloat16.
// RUN: ptc compile %s --march x86-64-v3 -o %t.so && ptc bench %t.so --repeat 1 | FileCheck %s

// CHECK: median
func.func @forward(%x: tensor<5x7xbf16> {ptc.input = "x"}, %c: tensor<bf16> {ptc.input = "c"}, %i: tensor<3xi64> {ptc.input = "i"}) -> (tensor<5x7xbf16> {ptc.output = "y"}) {
  %0 = prims.copy_sign %c, %c : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
  %1 = prims.broadcast_in_dim %0 {dims = array<i64>, sizes = affine_map<() -> (3, 7)>} : (tensor<bf16>) -> tensor<3x7xbf16>
  %2 = prims.scatter %x, %1, %i {combine = "sum", dims = array<i64: 0>} : (tensor<5x7xbf16>, tensor<3x7xbf16>, tensor<3xi64>) -> tensor<5x7xbf16>
  return %2 : tensor<5x7xbf16>
}
