// Products of which one size is 0 have no blocks, or sums of nothing.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK-COUNT-2: .visible .entry ptc_kernel_contract_
module {
  func.func @forward(%a: tensor<0x2x9xf64> {ptc.input = "a"}, %b: tensor<0x9x8xf64> {ptc.input = "b"},
                     %c: tensor<64x0xf16> {ptc.input = "c"}, %d: tensor<0x64xf16> {ptc.input = "d"})
      -> (tensor<0x2x8xf64> {ptc.output = "y"}, tensor<64x64xf32> {ptc.output = "z"}) {
    %y = prims.contract %a, %b {lhs_batch = array<i64: 0>, lhs_contract = array<i64: 2>, rhs_batch = array<i64: 0>,
                                rhs_contract = array<i64: 1>} : (tensor<0x2x9xf64>, tensor<0x9x8xf64>) -> tensor<0x2x8xf64>
    %z = prims.contract %c, %d {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>,
                                rhs_contract = array<i64: 0>} : (tensor<64x0xf16>, tensor<0x64xf16>) -> tensor<64x64xf32>
    return %y, %z : tensor<0x2x8xf64>, tensor<64x64xf32>
  }
}
