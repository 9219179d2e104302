// Heads of an open number of tokens lie an open stride apart: their product with weights is taken on the matrix unit,
// whose rows are split at places that the call's sizes tell.
// RUN: printf '\112\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[768,1024],"data_offsets":[0,3145728]}}       ' > %t.safetensors
// RUN: head -c 3145728 /dev/zero >> %t.safetensors
// RUN: ptc explain %s --weights %t.safetensors --march sapphirerapids | FileCheck %s

// CHECK: weights split for AMX when run by {{[0-9]+}} rows or more, which a call tells
module attributes {ptc.symbols = [{max = 1000 : i64, min = 2 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<2x12x?x64xf32, affine_map<()[s0] -> (2, 12, s0, 64)>> {ptc.input = "x"}, %w: tensor<768x1024xf32> {ptc.weight = "w"})
      -> (tensor<2x?x1024xf32, affine_map<()[s0] -> (2, s0, 1024)>> {ptc.output = "y"}) {
    %t = aten.transpose.int %x {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<2x12x?x64xf32, affine_map<()[s0] -> (2, 12, s0, 64)>>) -> tensor<2x?x12x64xf32, affine_map<()[s0] -> (2, s0, 12, 64)>>
    %f = aten.flatten.using_ints %t {start_dim = 2 : i64, end_dim = 3 : i64} : (tensor<2x?x12x64xf32, affine_map<()[s0] -> (2, s0, 12, 64)>>) -> tensor<2x?x768xf32, affine_map<()[s0] -> (2, s0, 768)>>
    %y = aten.matmul.default %f, %w : (tensor<2x?x768xf32, affine_map<()[s0] -> (2, s0, 768)>>, tensor<768x1024xf32>) -> tensor<2x?x1024xf32, affine_map<()[s0] -> (2, s0, 1024)>>
    return %y : tensor<2x?x1024xf32, affine_map<()[s0] -> (2, s0, 1024)>>
  }
}
