// Where the machine multiplies tiles of bf16, so are products of bf16, whatever k: x (80 is two and a half steps). A few
// rows are multiplied as f32, as vectors of pairs are slow there: r. One row waits for its weights, and has pairs: s.
// RUN: printf '\100\0\0\0\0\0\0\0{"w":{"dtype":"BF16","shape":[80,192],"data_offsets":[0,30720]}}' > %t.safetensors
// RUN: head -c 30720 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc compile %s --weights %t.safetensors -o %t.c.s --emit asm --march cooperlake && FileCheck %s --check-prefix=NONE < %t.c.s
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: k0_contract (contract, packed GEMM, bf16 on AMX, bfloat16)
// EXPLAIN: k1_contract (contract, packed GEMM, widened to float32, bfloat16)
// CHECK: ldtilecfg
// CHECK-NOT: vdpbf16ps
// CHECK: tdpbf16ps
// CHECK-NOT: vdpbf16ps
// CHECK: tilerelease
// CHECK-NOT: vdpbf16ps
// CHECK: vfmadd231ps
// CHECK: vdpbf16ps
// NONE-NOT: tdpbf16ps
func.func @forward(%x: tensor<64x80xbf16> {ptc.input = "x"}, %r: tensor<3x80xbf16> {ptc.input = "r"},
                   %s: tensor<1x80xbf16> {ptc.input = "s"}, %w: tensor<80x192xbf16> {ptc.weight = "w"})
    -> (tensor<64x192xbf16> {ptc.output = "y"}, tensor<3x192xbf16> {ptc.output = "z"},
        tensor<1x192xbf16> {ptc.output = "t"}) {
  %y = aten.mm.default %x, %w : (tensor<64x80xbf16>, tensor<80x192xbf16>) -> tensor<64x192xbf16>
  %z = aten.mm.default %r, %w : (tensor<3x80xbf16>, tensor<80x192xbf16>) -> tensor<3x192xbf16>
  %t = aten.mm.default %s, %w : (tensor<1x80xbf16>, tensor<80x192xbf16>) -> tensor<1x192xbf16>
  return %y, %z, %t : tensor<64x192xbf16>, tensor<3x192xbf16>, tensor<1x192xbf16>
}
