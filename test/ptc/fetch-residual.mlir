// What an epilogue adds from a tensor larger than L2 is asked for before the tile is multiplied; a smaller one is not.
// RUN: printf '\100\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[64,64],"data_offsets":[0,16384]}}  ' > %t.safetensors
// RUN: head -c 16384 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march x86-64-v4 && FileCheck %s < %t.s
// RUN: sed s/32768/4096/g %s > %t.small.mlir
// RUN: ptc compile %t.small.mlir --weights %t.safetensors -o %t.small.s --emit asm --march x86-64-v4
// RUN: FileCheck %s --check-prefix=SMALL --input-file %t.small.s

// Two tensors, four lines of each of a tile's rows; for itself a product asks for its next rows and panel.
// CHECK-COUNT-16: prefetcht1
// CHECK: vfmadd231ps
// SMALL: prefetcht1
// SMALL-NOT: prefetcht1
// SMALL: vfmadd231ps
func.func @forward(%x: tensor<32768x64xf32> {ptc.input = "x"}, %r: tensor<32768x64xf32> {ptc.input = "r"}, %w: tensor<64x64xf32> {ptc.weight = "w"})
    -> (tensor<32768x64xf32> {ptc.output = "y"}) {
  %0 = aten.linear.default %x, %w : (tensor<32768x64xf32>, tensor<64x64xf32>) -> tensor<32768x64xf32>
  %y = aten.add.Tensor %0, %r : (tensor<32768x64xf32>, tensor<32768x64xf32>) -> tensor<32768x64xf32>
  return %y : tensor<32768x64xf32>
}
