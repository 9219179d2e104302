// Constant right-hand sides lie in panels as wide as a register tile of the machine; where the matrix unit multiplies,
// float32 weights are three bfloat16 terms. A 3x3 convolution with many channels has the transformed weights of minimal filtering.
// RUN: printf '\220\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[1024,640],"data_offsets":[0,2621440]},"f":{"dtype":"F32","shape":[3,3,64,64],"data_offsets":[2621440,2768896]}}    ' > %t.safetensors
// RUN: head -c 2768896 /dev/zero >> %t.safetensors
// RUN: ptc-opt %s --march x86-64-v3 --weights %t.safetensors -to-loop -fuse -pack-weights | FileCheck %s --check-prefixes=CHECK,V3
// RUN: ptc-opt %s --march x86-64-v4 --weights %t.safetensors -to-loop -fuse -pack-weights | FileCheck %s --check-prefixes=CHECK,V4
// RUN: ptc-opt %s --march sapphirerapids --weights %t.safetensors -to-loop -fuse -pack-weights | FileCheck %s --check-prefixes=CHECK,AMX
// RUN: not ptc-opt %s --march no-machine -pack-weights 2>&1 | FileCheck %s --check-prefix=NO-MACHINE
// RUN: not ptc-opt %s --weights %t.none -pack-weights 2>&1 | FileCheck %s --check-prefix=NO-FILE

// NO-MACHINE: ptc-opt: unknown machine 'no-machine'
// NO-FILE: ptc-opt: {{.*}}.none: No such file or directory

// CHECK-LABEL: func.func @forward
// V3-SAME: tensor<27x1024x24xf32> {ptc.weight = "w.
// V3-SAME: tensor<{{.*}}x64x16xf32> {ptc.weight = "f.winograd
// V4-SAME: tensor<20x1024x32xf32> {ptc.weight = "w.
// V4-SAME: tensor<{{.*}}x64x32xf32> {ptc.weight = "f.winograd
// AMX-SAME: xbf16> {ptc.weight = "w.
// CHECK: loop.contract
// V3: rhs_panel = 24
// V4: rhs_panel = 32
// AMX: {rhs_bf16x3, rhs_panel = 16 : i64
// CHECK: loop.convolution
// V3: w_panel = 16 : i64, winograd = 4
// V4: w_panel = 32 : i64, winograd = 4
func.func @forward(%x: tensor<512x1024xf32> {ptc.input = "x"}, %w: tensor<1024x640xf32> {ptc.weight = "w"},
                   %y: tensor<1x16x16x64xf32> {ptc.input = "y"}, %f: tensor<3x3x64x64xf32> {ptc.weight = "f"})
    -> (tensor<512x640xf32> {ptc.output = "a"}, tensor<1x16x16x64xf32> {ptc.output = "b"}) {
  %0 = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>,
                              rhs_contract = array<i64: 0>}
      : (tensor<512x1024xf32>, tensor<1024x640xf32>) -> tensor<512x640xf32>
  %1 = prims.convolution %y, %f {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>,
                                 dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 1 : i64,
                                 channels_last = true}
      : (tensor<1x16x16x64xf32>, tensor<3x3x64x64xf32>) -> tensor<1x16x16x64xf32>
  return %0, %1 : tensor<512x640xf32>, tensor<1x16x16x64xf32>
}
