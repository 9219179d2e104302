// explain names the algorithm of each kernel, as the field does, and says what decided.
// RUN: printf '\40\1\0\0\0\0\0\0{"deep":{"dtype":"F32","shape":[64,1,3,3],"data_offsets":[0,2304]},"full":{"dtype":"F32","shape":[64,64,3,3],"data_offsets":[2304,149760]},"few":{"dtype":"F32","shape":[3,64,5,5],"data_offsets":[149760,168960]},"point":{"dtype":"F32","shape":[32,64,1,1],"data_offsets":[168960,177152]}}  ' > %t.safetensors
// RUN: seq 1 40000 | head -c 177152 >> %t.safetensors
// RUN: ptc explain %s --weights %t.safetensors --march x86-64-v4 | FileCheck %s
// RUN: ptc explain %s --weights %t.safetensors --march x86-64-v4 --json | FileCheck %s --check-prefix=JSON

// CHECK: (convolution, depthwise)
// CHECK: because: 3x3, stride 1, 64 to 64 channels in 64 groups, 56x56 pixels; one input and as many outputs in a group: vectors of 16
// CHECK: (convolution, winograd F(4x4, 3x3))
// CHECK: because: 3x3, stride 1, 64 to 64 channels, 56x56 pixels; estimated cycles: direct {{[0-9]+}}, minimal filtering F(2x2) {{[0-9]+}}, F(4x4) {{[0-9]+}}
// CHECK: (contract, packed GEMM)
// CHECK: because: 3136 x 64 by 64 x 32; a pointwise (1x1) convolution is a product of pixels by weights; weights packed in panels of 32
// CHECK: (convolution, few outputs (dot products))
// CHECK: because: 5x5, stride 1, 64 to 3 channels, 52x52 pixels; 3 outputs (4 or fewer): vectors lie along the input channels
// CHECK: (matrix, cholesky)
// CHECK: because: 4 matrices of size 16, a task each
// CHECK: (sort, merge sort)
// CHECK: because: 16 of 16 elements of a row are kept, half or more
// CHECK: (scan, scan
// CHECK: (reduce, reduction of rows)
// CHECK: because: vectors of 64 along 256 reduced elements; estimated vector accesses:
// CHECK: (reduce, reduction of columns)
// CHECK: because: vectors of 16 along a loop of 16 results; estimated vector accesses:
// CHECK: (pointwise, loop nest)

// JSON: "algorithm": "depthwise",
// JSON-NEXT: "because": "3x3, stride 1,
// JSON: "algorithm": "cholesky",
// JSON-NEXT: "because": "4 matrices of size 16
func.func @forward(%x: tensor<1x64x56x56xf32> {ptc.input = "x"}, %m: tensor<4x16x16xf32> {ptc.input = "m"},
                   %n: tensor<4x256xf32> {ptc.input = "n"}, %o: tensor<9x256xf32> {ptc.input = "o"}, %p: tensor<7x9xf32> {ptc.input = "p"},
                   %deep: tensor<64x1x3x3xf32> {ptc.weight = "deep"}, %full: tensor<64x64x3x3xf32> {ptc.weight = "full"},
                   %few: tensor<3x64x5x5xf32> {ptc.weight = "few"}, %point: tensor<32x64x1x1xf32> {ptc.weight = "point"})
    -> (tensor<1x64x56x56xf32> {ptc.output = "a"}, tensor<1x64x56x56xf32> {ptc.output = "b"},
        tensor<1x32x56x56xf32> {ptc.output = "c"}, tensor<1x3x52x52xf32> {ptc.output = "d"},
        tensor<4x16x16xf32> {ptc.output = "e"}, tensor<4x16x16xf32> {ptc.output = "f"}, tensor<4x256xf32> {ptc.output = "g"},
        tensor<9xf32> {ptc.output = "h"}, tensor<4x16xf32> {ptc.output = "i"}, tensor<7x9xf32> {ptc.output = "j"}) {
  %a = aten.conv2d.default %x, %deep {groups = 64 : i64, padding = array<i64: 1, 1>} : (tensor<1x64x56x56xf32>, tensor<64x1x3x3xf32>) -> tensor<1x64x56x56xf32>
  %b = aten.conv2d.default %x, %full {padding = array<i64: 1, 1>} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %c = aten.conv2d.default %x, %point : (tensor<1x64x56x56xf32>, tensor<32x64x1x1xf32>) -> tensor<1x32x56x56xf32>
  %d = aten.conv2d.default %x, %few : (tensor<1x64x56x56xf32>, tensor<3x64x5x5xf32>) -> tensor<1x3x52x52xf32>
  %e, %info = aten.linalg_cholesky_ex.default %m : (tensor<4x16x16xf32>) -> (tensor<4x16x16xf32>, tensor<4xi32>)
  %f, %places = aten.sort.default %m : (tensor<4x16x16xf32>) -> (tensor<4x16x16xf32>, tensor<4x16x16xi64>)
  %g = aten.cumsum.default %n {dim = 1 : i64} : (tensor<4x256xf32>) -> tensor<4x256xf32>
  %h = aten.sum.dim_IntList %o {dim = array<i64: 1>} : (tensor<9x256xf32>) -> tensor<9xf32>
  %i = aten.sum.dim_IntList %m {dim = array<i64: 1>} : (tensor<4x16x16xf32>) -> tensor<4x16xf32>
  %j = aten.exp.default %p : (tensor<7x9xf32>) -> tensor<7x9xf32>
  return %a, %b, %c, %d, %e, %f, %g, %h, %i, %j : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32>, tensor<1x32x56x56xf32>,
      tensor<1x3x52x52xf32>, tensor<4x16x16xf32>, tensor<4x16x16xf32>, tensor<4x256xf32>, tensor<9xf32>, tensor<4x16xf32>, tensor<7x9xf32>
}
