// Where the machine multiplies tiles of bf16, a contraction of f32 that is large enough is six products of bf16 terms a step;
// in f32 where rows are not finite. A small one is not worth splitting.
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[768,1024],"data_offsets":[0,3145728]}}     ' > %t.safetensors
// RUN: head -c 3145728 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc compile %s --weights %t.safetensors -o %t.4.s --emit asm --march x86-64-v4 && FileCheck %s --check-prefix=NONE < %t.4.s
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: k0_contract (contract, packed GEMM, bf16x3 on AMX)
// EXPLAIN: because: 64 x 768 by 768 x 1024; weights not arranged for AMX when compiled: 3 MiB of weights exceed the 1 MiB
// EXPLAIN-SAME: weights split for AMX when run: 100.7 MFLOP (2.1 MFLOP or more)
// EXPLAIN: k1_contract (contract, packed GEMM)
// EXPLAIN: because: 16 x 768 by 768 x 1024; {{.*}}; weights not split for AMX when run: m = 16, less than 48; tiles of 8x32 for 32
// CHECK: ldtilecfg
// CHECK: vfmadd231ps
// CHECK-COUNT-24: tdpbf16ps
// CHECK: tilerelease
// CHECK-NOT: tdpbf16ps
// NONE-NOT: tdpbf16ps
func.func @forward(%x: tensor<64x768xf32> {ptc.input = "x"}, %w: tensor<768x1024xf32> {ptc.weight = "w"})
    -> (tensor<64x1024xf32> {ptc.output = "y"}, tensor<16x1024xf32> {ptc.output = "z"}) {
  %y = aten.mm.default %x, %w : (tensor<64x768xf32>, tensor<768x1024xf32>) -> tensor<64x1024xf32>
  %a = aten.slice.Tensor %x {dim = 0 : i64, end = 16 : i64} : (tensor<64x768xf32>) -> tensor<16x768xf32>
  %z = aten.mm.default %a, %w : (tensor<16x768xf32>, tensor<768x1024xf32>) -> tensor<16x1024xf32>
  return %y, %z : tensor<64x1024xf32>, tensor<16x1024xf32>
}
