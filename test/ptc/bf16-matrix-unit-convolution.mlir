// Where the machine multiplies tiles of bf16, a convolution of bf16 reads its weights' tiles where they lie: four products a
// step, of all taps, before a block of them is stored. Channels that are no whole steps are widened: 24.
// RUN: printf '\220\0\0\0\0\0\0\0{"v":{"dtype":"BF16","shape":[64,24,3,3],"data_offsets":[0,27648]},"w":{"dtype":"BF16","shape":[128,128,3,3],"data_offsets":[27648,322560]}}     ' > %t.safetensors
// RUN: head -c 322560 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: (convolution, direct, bf16 on AMX, bfloat16)
// EXPLAIN: (convolution, direct, widened to float32, bfloat16)
// CHECK: ldtilecfg
// CHECK-COUNT-4: tdpbf16ps
// CHECK: tilerelease
// CHECK-NOT: vdpbf16ps
func.func @forward(%x: tensor<1x128x28x28xbf16> {ptc.input = "x"}, %w: tensor<128x128x3x3xbf16> {ptc.weight = "w"},
                   %u: tensor<1x24x9x9xbf16> {ptc.input = "u"}, %v: tensor<64x24x3x3xbf16> {ptc.weight = "v"})
    -> (tensor<1x128x26x26xbf16> {ptc.output = "y"}, tensor<1x64x7x7xbf16> {ptc.output = "z"}) {
  %y = aten.conv2d.default %x, %w : (tensor<1x128x28x28xbf16>, tensor<128x128x3x3xbf16>) -> tensor<1x128x26x26xbf16>
  %z = aten.conv2d.default %u, %v : (tensor<1x24x9x9xbf16>, tensor<64x24x3x3xbf16>) -> tensor<1x64x7x7xbf16>
  return %y, %z : tensor<1x128x26x26xbf16>, tensor<1x64x7x7xbf16>
}
