// A library that was cut off, or changed, is one line.
// RUN: split-file %s %t && cd %t
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1024,960],"data_offsets":[0,3932160]}}     ' > w.safetensors
// RUN: head -c 3932160 /dev/zero >> w.safetensors
// RUN: printf '\76\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[1,1024],"data_offsets":[0,4096]}}' > x.safetensors
// RUN: head -c 4096 /dev/zero >> x.safetensors
// RUN: ptc compile y.mlir --weights w.safetensors -o y.so && ptc doctor y.so | FileCheck %s
// RUN: ptc run y.so --inputs x.safetensors --outputs y.safetensors && rm y.safetensors
// RUN: head -c -1 y.so > cut.so && not ptc run cut.so --inputs x.safetensors --outputs y.safetensors 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: head -c 9000 y.so > cut.so && not ptc run cut.so --inputs x.safetensors --outputs y.safetensors 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: head -c 1000 y.so > cut.so && not ptc bench cut.so 2>&1 | FileCheck %s --check-prefix=CUT
// RUN: cp y.so bad.so && printf x | dd of=bad.so bs=1 seek=3000000 conv=notrunc 2>/dev/null
// RUN: not ptc run bad.so --inputs x.safetensors --outputs y.safetensors 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: not ptc doctor bad.so | FileCheck %s --check-prefix=DOCTOR
// RUN: not ls y.safetensors

// CHECK: ok library y.so: whole, with code for
// CUT: ptc: error: cut.so: the library is cut off: its file has {{[0-9]+}} of {{[0-9]+}} bytes (copy or compile it again)
// BAD: ptc: error: bad.so: the library's file was changed: its bytes do not have the hash that they were written with (copy or compile it again)
// DOCTOR: fail library bad.so: the library's file was changed

//--- y.mlir
func.func @forward(%x: tensor<1x1024xf32> {ptc.input = "x"}, %w: tensor<1024x960xf32> {ptc.weight = "w"})
    -> (tensor<1x960xf32> {ptc.output = "y"}) {
  %y = aten.mm.default %x, %w : (tensor<1x1024xf32>, tensor<1024x960xf32>) -> tensor<1x960xf32>
  return %y : tensor<1x960xf32>
}
