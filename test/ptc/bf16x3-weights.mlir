// Where the machine multiplies tiles of bf16, weights of a small product are bf16x3, and f32 is there for rows that have
// none: y. But not where such products are a small part of the model, as the unit makes the rest slower: with z.
// RUN: split-file %s %t
// RUN: printf '\100\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[128,192],"data_offsets":[0,98304]}}' > %t/w.safetensors
// RUN: head -c 98304 /dev/zero >> %t/w.safetensors
// RUN: ptc compile %t/y.mlir --weights %t/w.safetensors -o %t/y.s --emit asm --march sapphirerapids && FileCheck %s < %t/y.s
// RUN: ptc explain %t/y.mlir --weights %t/w.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN
// RUN: ptc compile %t/y.mlir --weights %t/w.safetensors -o %t/y4.s --emit asm --march x86-64-v4 && FileCheck %s --check-prefix=NONE < %t/y4.s
// RUN: ptc compile %t/yz.mlir --weights %t/w.safetensors -o %t/yz.s --emit asm --march sapphirerapids && FileCheck %s --check-prefix=NONE < %t/yz.s

// EXPLAIN: k0_contract (contract, packed GEMM, bf16x3 on AMX)
// EXPLAIN: because: 64 x 128 by 128 x 192; weights arranged for AMX when compiled: 64 rows meet 96 KiB
// CHECK: ldtilecfg
// CHECK: vfmadd231ps
// CHECK: tdpbf16ps
// CHECK: tilerelease
// NONE-NOT: tdpbf16ps

//--- y.mlir
func.func @forward(%x: tensor<64x128xf32> {ptc.input = "x"}, %w: tensor<128x192xf32> {ptc.weight = "w"})
    -> (tensor<64x192xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<64x128xf32>, tensor<128x192xf32>) -> tensor<64x192xf32>
  return %y : tensor<64x192xf32>
}

//--- yz.mlir
func.func @forward(%x: tensor<64x128xf32> {ptc.input = "x"}, %w: tensor<128x192xf32> {ptc.weight = "w"},
                   %v: tensor<1000000xf32> {ptc.input = "v"})
    -> (tensor<64x192xf32> {ptc.output = "y"}, tensor<1000000xf32> {ptc.output = "z"}) {
  %y = aten.mm.default %x, %w : (tensor<64x128xf32>, tensor<128x192xf32>) -> tensor<64x192xf32>
  %z = aten.exp.default %v : (tensor<1000000xf32>) -> tensor<1000000xf32>
  return %y, %z : tensor<64x192xf32>, tensor<1000000xf32>
}
