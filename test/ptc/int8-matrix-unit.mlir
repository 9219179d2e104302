// Where the machine multiplies tiles of bytes, so are products of bytes by a weight, whatever k: x (80 is a step and a
// quarter). A few rows are multiplied in vectors: r. Where calls tell the number of rows the kernel has both forms, which
// read the same weights.
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[80,192],"data_offsets":[0,61440]}}         ' > %t.safetensors
// RUN: head -c 61440 /dev/zero | tr '\0' '?' >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors --quantize int8-dynamic -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc compile %s --weights %t.safetensors --quantize int8-dynamic -o %t.i.s --emit asm --march icelake-server && FileCheck %s --check-prefix=NONE < %t.i.s
// RUN: ptc explain %s --weights %t.safetensors --quantize int8-dynamic --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: contract{{.*}}int8 on AMX, uint8 by int8)
// EXPLAIN: because: 64 x 80 by 80 x 192; weights arranged for AMX when compiled: 64 rows meet 15 KiB
// EXPLAIN: contract{{.*}}int8 on AVX512-VNNI, uint8 by int8)
// EXPLAIN: because: 3 x 80 by 80 x 192; weights not arranged for AMX when compiled: m is less than 35
// EXPLAIN: contract{{.*}}int8 on AMX, uint8 by int8)
// EXPLAIN: weights arranged for AMX when compiled: 35 rows or more meet 15 KiB
// CHECK: ldtilecfg
// CHECK-NOT: vpdpbusd
// CHECK: tdpbusd
// CHECK-NOT: vpdpbusd
// CHECK: tilerelease
// CHECK-NOT: ldtilecfg
// CHECK: vpdpbusd
// CHECK: cmpq $35
// CHECK: tdpbusd
// CHECK: tilerelease
// CHECK: vpdpbusd
// NONE-NOT: tdpbusd
module attributes {ptc.symbols = [{max = 1000 : i64, min = 2 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<64x80xf32> {ptc.input = "x"}, %r: tensor<3x80xf32> {ptc.input = "r"},
                     %o: tensor<?x80xf32, affine_map<()[s0] -> (s0, 80)>> {ptc.input = "o"},
                     %w: tensor<80x192xf32> {ptc.weight = "w"})
      -> (tensor<64x192xf32> {ptc.output = "y"}, tensor<3x192xf32> {ptc.output = "z"},
          tensor<?x192xf32, affine_map<()[s0] -> (s0, 192)>> {ptc.output = "p"}) {
    %y = aten.mm.default %x, %w : (tensor<64x80xf32>, tensor<80x192xf32>) -> tensor<64x192xf32>
    %z = aten.mm.default %r, %w : (tensor<3x80xf32>, tensor<80x192xf32>) -> tensor<3x192xf32>
    %p = aten.mm.default %o, %w : (tensor<?x80xf32, affine_map<()[s0] -> (s0, 80)>>, tensor<80x192xf32>) -> tensor<?x192xf32, affine_map<()[s0] -> (s0, 192)>>
    return %y, %z, %p : tensor<64x192xf32>, tensor<3x192xf32>, tensor<?x192xf32, affine_map<()[s0] -> (s0, 192)>>
  }
}
