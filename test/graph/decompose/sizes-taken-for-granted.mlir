// RUN: ptc-opt --decompose --split-input-file %s | FileCheck %s
// What an operator takes for granted of sizes that may be otherwise is a condition of calls, said once.

// CHECK: ptc.guards = [{relation = "ge", text = "1 <= s0", value = #{{.*}}}], ptc.symbols
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2xf32, #sizes> {ptc.input = "x"}) -> (tensor<2xf32>, tensor<2xf32>) {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    %1 = aten.amax.default %x {dim = array<i64: 0>} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0, %1 : tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// CHECK: text = "4 <= s0"
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<2x?xf32, affine_map<()[s0] -> (2, s0)>> {ptc.input = "x"})
      -> tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>> {
    %0 = aten.reflection_pad1d.default %x {padding = array<i64: 0, 3>}
      : (tensor<2x?xf32, affine_map<()[s0] -> (2, s0)>>) -> tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>>
    return %0 : tensor<2x?xf32, affine_map<()[s0] -> (2, s0 + 3)>>
  }
}

// -----

// CHECK-NOT: ptc.guards
// CHECK: prims.gather
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 0 : i64, max = 8 : i64}]} {
  func.func private @branch(%x: tensor<?x2xf32, #sizes>) -> tensor<2xf32> {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}

// -----

// CHECK-NOT: ptc.guards
#sizes = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "s0", min = 1 : i64, max = 8 : i64}]} {
  func.func @forward(%x: tensor<?x2xf32, #sizes> {ptc.input = "x"}) -> tensor<2xf32> {
    %0 = aten.select.int %x {dim = 0 : i64, index = 0 : i64} : (tensor<?x2xf32, #sizes>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
