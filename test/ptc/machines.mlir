// --march takes one machine or several. The library runs the code of the most capable one that the processor is; explain
// says which those are. What is less than x86-64-v3, unknown or named twice is refused.
// RUN: not ptc compile %s -o %t.near.so --march zenn4 2>&1 | FileCheck %s --check-prefix=NEAR
// NEAR: ptc: error: unknown machine 'zenn4' (did you mean 'znver4'? native,
// RUN: ptc compile %s -o %t.v3.so --march x86-64-v3 && ptc bench %t.v3.so --repeat 1 | FileCheck %s --check-prefix=V3
// RUN: ptc compile %s -o %t.so --march x86-64-v3,x86-64-v4 && ptc bench %t.so --repeat 1 | FileCheck %s --check-prefix=BOTH
// RUN: ptc compile %s -o %t.o --emit obj --march x86-64-v3,x86-64-v4 && llvm-nm-22 %t.o | FileCheck %s --check-prefix=NAMES
// RUN: ptc compile %s -o %t.3.ll --emit llvm --march x86-64-v3 && FileCheck %s --check-prefix=WIDTH3 < %t.3.ll
// RUN: ptc compile %s -o %t.4.ll --emit llvm --march x86-64-v4 && FileCheck %s --check-prefix=WIDTH4 < %t.4.ll
// RUN: ptc explain %s --march x86-64-v3,x86-64-v4 | FileCheck %s --check-prefix=EXPLAIN
// RUN: not ptc compile %s -o %t.so --march x86-64-v2 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: not ptc compile %s -o %t.so --march x86-64-v3,x86-64 2>&1 | FileCheck %s --check-prefix=LESS
// RUN: not ptc compile %s -o %t.so --march x86-64-v3,x86-64-v3 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not ptc compile %s -o %t.so --march x86-64-v3,pdp-11 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not ptc compile %s -o %t.s --emit asm --march x86-64-v3,x86-64-v4 2>&1 | FileCheck %s --check-prefix=TEXT

// V3: code for x86-64-v3
// BOTH: code for x86-64-v{{[34]}}
// NAMES-COUNT-2: T ptc_kernel_
// WIDTH3: "prefer-vector-width"="256"
// WIDTH4: "prefer-vector-width"="512"
// EXPLAIN: code for x86-64-v4: weights as its kernels read them 0 B
// EXPLAIN-NEXT: code for x86-64-v3: weights as its kernels read them 0 B
// EXPLAIN-NEXT: weights in the library: 0 B
// LESS: ptc: error: the machine 'x86-64{{(-v2)?}}' lacks AVX2 and FMA, which ptc's code needs (x86-64-v3 is the least that has them)
// TWICE: ptc: error: the machine 'x86-64-v3' is named twice
// UNKNOWN: ptc: error: unknown machine 'pdp-11'
// TEXT: ptc: error: code for several machines is a library or an object, and no text (name one with --march)
func.func @forward(%x: tensor<100xf32> {ptc.input = "x"}) -> (tensor<100xf32> {ptc.output = "y"}) {
  %0 = aten.sin.default %x : (tensor<100xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
