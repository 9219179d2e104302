// A chain over symbolic sizes is one kernel, which reads and writes each element once; every stage can be written and
// fed back in.
// RUN: ptc explain %s | FileCheck %s --check-prefix=EXPLAIN
// RUN: ptc explain %s --json | FileCheck %s --check-prefix=JSON
// RUN: ptc compile %s --emit prims -o %t.prims.mlir && FileCheck %s --check-prefix=PRIMS < %t.prims.mlir
// RUN: ptc compile %t.prims.mlir --emit loop -o %t.loop.mlir && FileCheck %s --check-prefix=LOOP < %t.loop.mlir
// RUN: ptc compile %s --emit asm -o %t.s --march x86-64-v3 && ptc compile %s --emit llvm -o %t.ll
// RUN: ptc compile %s -o %t.1.so && ptc compile %s -o %t.2.so && cmp %t.1.so %t.2.so
// RUN: ptc bench %t.1.so --json --repeat 5 | FileCheck %s --check-prefix=BENCH

// EXPLAIN: inputs: x: float32[s0, s1]
// EXPLAIN: guard: 1 <= s0 <= 4096
// EXPLAIN: kernels: 1
// EXPLAIN: (pointwise, loop nest): 8 B (8*s{{[01]}}*s{{[01]}})
// JSON: "breaks": 0
// PRIMS: prims.sin
// PRIMS: prims.cos
// LOOP: loop.kernel
// LOOP-NOT: loop.kernel
// BENCH: "median_ms"
#xy = affine_map<()[s0, s1] -> (s0, s1)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 4096 : i64}, {name = "s1", min = 1 : i64, max = 4096 : i64}]} {
  func.func @forward(%x: tensor<?x?xf32, #xy> {ptc.input = "x"}) -> (tensor<?x?xf32, #xy> {ptc.output = "cos"}) {
    %0 = aten.sin.default %x : (tensor<?x?xf32, #xy>) -> tensor<?x?xf32, #xy>
    %1 = aten.cos.default %0 : (tensor<?x?xf32, #xy>) -> tensor<?x?xf32, #xy>
    return %1 : tensor<?x?xf32, #xy>
  }
}
