// Mixed precision: explain says what runs in bfloat16; a machine that has no instructions for it gets a warning.
// RUN: ptc explain %s --amp bf16 --march znver4 | FileCheck %s
// RUN: ptc compile %s -o %t.so --amp bf16 --march x86-64-v3,znver4 2>&1 | FileCheck %s --check-prefix=WARNING
// RUN: ptc compile %s -o %t.so --amp bf16 --march znver4 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: not ptc compile %s -o %t.so --amp int8 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: ptc compile %s -o %t.so --amp fp16 --march znver4 2>&1 | FileCheck %s --check-prefix=HALF

// CHECK: operators on bfloat16: 1 of 1 kinds
// CHECK-NEXT: 1 aten.mm.default
// CHECK: (contract, GEMM, packed by each task, bf16 on AVX512-BF16, bfloat16)
// WARNING: ptc: warning: 'x86-64-v3' has no instructions for bfloat16 (AVX512-BF16): there --amp bf16 is slower than float32
// WARNING-NOT: znver4
// QUIET-NOT: warning
// OTHER: ptc: error: command line: --amp: int8 not in {bf16,fp16}
// HALF: ptc: warning: 'znver4' has no instructions for products of float16: there --amp fp16 is slower than float32
func.func @forward(%x: tensor<64x96xf32> {ptc.input = "x"}, %w: tensor<96x64xf32> {ptc.input = "w"})
    -> (tensor<64x64xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<64x96xf32>, tensor<96x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
