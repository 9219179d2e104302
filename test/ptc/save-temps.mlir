// --save-temps keeps what every stage made beside the output, and each is what its name says: IR goes back in, the object
// is one relocatable file. Without it there is the output alone.
// RUN: rm -rf %t && mkdir %t
// RUN: ptc compile %s -o %t/a.so --save-temps
// RUN: ls %t | FileCheck %s --check-prefix=FILES
// RUN: ptc compile %t/a.prims.mlir -o %t/b.so && ls %t | FileCheck %s --check-prefix=NONE
// RUN: llvm-readelf-22 -h %t/a.o | FileCheck %s --check-prefix=OBJECT
// RUN: llvm-nm-22 %t/a.o | FileCheck %s --check-prefix=NAMES
// RUN: ptc compile %s -o %t/c.o --emit obj && cmp %t/a.o %t/c.o

// FILES: a.aten.mlir
// FILES-NEXT: a.ll
// FILES-NEXT: a.loop.mlir
// FILES-NEXT: a.o
// FILES-NEXT: a.prims.mlir
// FILES-NEXT: a.s
// FILES-NEXT: a.so
// FILES-NOT: {{.}}
// NONE-NOT: b.{{[^s]}}
// OBJECT: Type: REL (Relocatable file)
// NAMES: ptc_program
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %0 = aten.sin.default %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
