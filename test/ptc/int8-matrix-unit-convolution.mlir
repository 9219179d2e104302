// Where the machine multiplies tiles of bytes, a convolution reads its weights' tiles where they lie: four products a step,
// of all taps, before a block of them is stored. Channels that are no whole steps are multiplied in vectors: 96.
// RUN: printf '\220\0\0\0\0\0\0\0{"v":{"dtype":"I8","shape":[3,3,96,64],"data_offsets":[0,55296]},"w":{"dtype":"I8","shape":[3,3,128,128],"data_offsets":[55296,202752]}}        ' > %t.safetensors
// RUN: head -c 202752 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: (convolution, direct, int8 on AMX, uint8 by int8)
// EXPLAIN: on AMX: 676 pixels (16 or more), channels in whole steps of 64, 128 outputs (64 or more)
// EXPLAIN: (convolution, direct, int8 on AVX512-VNNI, uint8 by int8)
// EXPLAIN: not on AMX: 96 input channels are not whole steps of 64
// CHECK: ldtilecfg
// CHECK-NOT: vpdpbusd
// CHECK-COUNT-4: tdpbusd
// CHECK: tilerelease
// CHECK-NOT: tdpbusd
// CHECK: vpdpbusd
func.func @forward(%x: tensor<1x28x28x128xui8> {ptc.input = "x"}, %w: tensor<3x3x128x128xi8> {ptc.weight = "w"},
                   %u: tensor<1x9x9x96xui8> {ptc.input = "u"}, %v: tensor<3x3x96x64xi8> {ptc.weight = "v"})
    -> (tensor<1x26x26x128xi32> {ptc.output = "y"}, tensor<1x7x7x64xi32> {ptc.output = "z"}) {
  %y = loop.convolution %x, %w {
  ^bb0(%n: index, %h: index, %c: index, %o: index, %sum: i32):
    loop.yield %sum : i32
  } {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, kernel = array<i64: 3, 3>}
      : tensor<1x28x28x128xui8>, tensor<3x3x128x128xi8> -> tensor<1x26x26x128xi32>
  %z = loop.convolution %u, %v {
  ^bb0(%n: index, %h: index, %c: index, %o: index, %sum: i32):
    loop.yield %sum : i32
  } {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, kernel = array<i64: 3, 3>}
      : tensor<1x9x9x96xui8>, tensor<3x3x96x64xi8> -> tensor<1x7x7x64xi32>
  return %y, %z : tensor<1x26x26x128xi32>, tensor<1x7x7x64xi32>
}
