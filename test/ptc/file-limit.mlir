// Where files may not become as large as the weights, that is an error, and nothing of the output is left.
// RUN: split-file %s %t
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1024,960],"data_offsets":[0,3932160]}}     ' > %t/w.safetensors
// RUN: head -c 3932160 /dev/zero >> %t/w.safetensors
// RUN: ptc compile %t/y.mlir --weights %t/w.safetensors -o %t/y.so && rm %t/y.so
// RUN: not sh -c 'ulimit -f 4000; exec ptc compile %t/y.mlir --weights %t/w.safetensors -o %t/y.so' 2>&1 | FileCheck %s
// RUN: not ls %t/y.so*
// CHECK: ptc: error: {{.*}}y.so{{.*}}: File too large (cannot write the weights)

//--- y.mlir
func.func @forward(%x: tensor<8x1024xf32> {ptc.input = "x"}, %w: tensor<1024x960xf32> {ptc.weight = "w"})
    -> (tensor<8x960xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<8x1024xf32>, tensor<1024x960xf32>) -> tensor<8x960xf32>
  return %y : tensor<8x960xf32>
}
