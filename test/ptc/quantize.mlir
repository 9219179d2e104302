// Weights in int8: explain says what that loses, kernels convert them or multiply bytes; a machine that cannot multiply
// bytes gets a warning.
// RUN: ptc explain %s --quantize int8-weight --march znver4 | FileCheck %s --check-prefixes=LOST,CONVERTED
// RUN: ptc explain %s --quantize int8-dynamic --march znver4 | FileCheck %s --check-prefixes=LOST,BYTES
// RUN: ptc compile %s -o %t.s --emit asm --quantize int8-dynamic --march znver4 && FileCheck %s --check-prefix=DOT < %t.s
// RUN: ptc compile %s -o %t.s --emit asm --quantize int8-weight --march znver4 && FileCheck %s --check-prefix=NO-DOT < %t.s
// RUN: ptc compile %s -o %t.so --quantize int8-dynamic --march x86-64-v4 2>&1 | FileCheck %s --check-prefix=WARNING
// RUN: ptc compile %s -o %t.so --quantize int8-weight --march x86-64-v4 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: not ptc compile %s -o %t.so --quantize int8-weight --amp bf16 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not ptc compile %s -o %t.so --quantize int4 2>&1 | FileCheck %s --check-prefix=OTHER

// LOST: quantized: 1 weight, 4.0 KiB as 1.1 KiB
// LOST-NEXT: folded.0 float32[32, 32]: relative error {{.*}}e-03, SQNR {{[45].*}} dB
// CONVERTED: (contract, packed GEMM, int8 weights widened to float32, float32 by int8)
// BYTES: (contract, packed GEMM, int8 on AVX512-VNNI, uint8 by int8)
// DOT: vpdpbusd
// NO-DOT-NOT: vpdpbusd
// WARNING: ptc: warning: 'x86-64-v4' has no instructions for products of bytes (AVX512-VNNI): there --quantize int8-dynamic is slower than float32
// QUIET-NOT: warning
// BOTH: ptc: error: command line: --amp excludes --quantize
// OTHER: ptc: error: command line: --quantize: int4 not in {int8-weight,int8-dynamic}
func.func @forward(%x: tensor<40x32xf32> {ptc.input = "x"}) -> (tensor<40x32xf32> {ptc.output = "y"}) {
  %a = aten.arange.default {end = 1024.0 : f64, dtype = f32} : () -> tensor<1024xf32>
  %w = aten.view.default %a {size = array<i64: 32, 32>} : (tensor<1024xf32>) -> tensor<32x32xf32>
  %y = aten.mm.default %x, %w : (tensor<40x32xf32>, tensor<32x32xf32>) -> tensor<40x32xf32>
  return %y : tensor<40x32xf32>
}
