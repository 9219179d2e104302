// Where the machine multiplies tiles of bf16, a convolution of f32 is products of bf16 terms as well; what is not finite is
// done again in f32.
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[128,128,3,3],"data_offsets":[0,589824]}}   ' > %t.safetensors
// RUN: head -c 589824 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids --no-winograd && FileCheck %s < %t.s
// RUN: ptc compile %s --weights %t.safetensors -o %t.4.s --emit asm --march x86-64-v4 --no-winograd && FileCheck %s --check-prefix=NONE < %t.4.s

// CHECK: ldtilecfg
// CHECK-COUNT-24: tdpbf16ps
// CHECK: vfmadd231ps
// CHECK: tilerelease
// NONE-NOT: tdpbf16ps
func.func @forward(%x: tensor<1x128x28x28xf32> {ptc.input = "x"}, %w: tensor<128x128x3x3xf32> {ptc.weight = "w"})
    -> (tensor<1x128x26x26xf32> {ptc.output = "y"}) {
  %y = aten.conv2d.default %x, %w : (tensor<1x128x28x28xf32>, tensor<128x128x3x3xf32>) -> tensor<1x128x26x26xf32>
  return %y : tensor<1x128x26x26xf32>
}
