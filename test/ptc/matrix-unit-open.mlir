// Rows whose number calls tell: where enough are certain, weights are arranged for the matrix unit when compiled; else the
// kernel has both forms, and the call decides. Never so many stay on vectors.
// RUN: printf '\220\0\0\0\0\0\0\0{"v":{"dtype":"F32","shape":[768,320],"data_offsets":[3145728,4128768]},"w":{"dtype":"F32","shape":[768,1024],"data_offsets":[0,3145728]}}      ' > %t.safetensors
// RUN: head -c 4128768 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.s --emit asm --march sapphirerapids && FileCheck %s < %t.s
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s --check-prefix=EXPLAIN

// EXPLAIN: because: n x 768 by 768 x 1024; weights not arranged for AMX when compiled: the number of rows is dynamic, and may be such that m = 2, less than 33
// EXPLAIN-SAME: weights split for AMX when run by 64 rows or more, which a call tells
// EXPLAIN: because: few x 768 by 768 x 1024; {{.*}}weights not split for AMX when run: m is less than 48
// EXPLAIN: because: many x 768 by 768 x 320; weights arranged for AMX when compiled: 200 rows or more meet 960 KiB
// CHECK: cmpq $64
// CHECK: tdpbf16ps
// CHECK: tilerelease
module attributes {ptc.symbols = [{max = 1000 : i64, min = 2 : i64, name = "n"}, {max = 40 : i64, min = 2 : i64, name = "few"},
                                  {max = 1000 : i64, min = 200 : i64, name = "many"}]} {
  func.func @forward(%x: tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>> {ptc.input = "x"},
                     %y: tensor<?x768xf32, affine_map<()[s0, s1] -> (s1, 768)>> {ptc.input = "y"},
                     %z: tensor<?x768xf32, affine_map<()[s0, s1, s2] -> (s2, 768)>> {ptc.input = "z"},
                     %w: tensor<768x1024xf32> {ptc.weight = "w"}, %v: tensor<768x320xf32> {ptc.weight = "v"})
      -> (tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>> {ptc.output = "a"},
          tensor<?x1024xf32, affine_map<()[s0, s1] -> (s1, 1024)>> {ptc.output = "b"},
          tensor<?x320xf32, affine_map<()[s0, s1, s2] -> (s2, 320)>> {ptc.output = "c"}) {
    %a = aten.mm.default %x, %w : (tensor<?x768xf32, affine_map<()[s0] -> (s0, 768)>>, tensor<768x1024xf32>) -> tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>>
    %b = aten.mm.default %y, %w : (tensor<?x768xf32, affine_map<()[s0, s1] -> (s1, 768)>>, tensor<768x1024xf32>) -> tensor<?x1024xf32, affine_map<()[s0, s1] -> (s1, 1024)>>
    %c = aten.mm.default %z, %v : (tensor<?x768xf32, affine_map<()[s0, s1, s2] -> (s2, 768)>>, tensor<768x320xf32>) -> tensor<?x320xf32, affine_map<()[s0, s1, s2] -> (s2, 320)>>
    return %a, %b, %c : tensor<?x1024xf32, affine_map<()[s0] -> (s0, 1024)>>, tensor<?x1024xf32, affine_map<()[s0, s1] -> (s1, 1024)>>, tensor<?x320xf32, affine_map<()[s0, s1, s2] -> (s2, 320)>>
  }
}
