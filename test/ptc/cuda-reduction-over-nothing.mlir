// A product with a number is a reduction over nothing; what its stage has computed at a point, later stages find.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx
// CHECK: .visible .entry
// CHECK-COUNT-3: st.global
module {
  func.func @forward(%x: tensor<12xf32> {ptc.input = "x"}, %s: tensor<f32> {ptc.input = "s"}, %w: tensor<12xf32> {ptc.input = "w"}) -> (tensor<12xf32> {ptc.output = "a"}, tensor<12x12xf32> {ptc.output = "b"}, tensor<12xf32> {ptc.output = "c"}) {
    %0 = prims.abs %x : (tensor<12xf32>) -> tensor<12xf32>
    %1 = prims.log %0 : (tensor<12xf32>) -> tensor<12xf32>
    %2 = prims.mul %1, %x : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    %3 = prims.contract %2, %s {lhs_batch = array<i64>, lhs_contract = array<i64>, rhs_batch = array<i64>, rhs_contract = array<i64>} : (tensor<12xf32>, tensor<f32>) -> tensor<12xf32>
    %4 = prims.broadcast_in_dim %x {dims = array<i64: 0>, sizes = array<i64: 12, 12>} : (tensor<12xf32>) -> tensor<12x12xf32>
    %5 = prims.sign %1 : (tensor<12xf32>) -> tensor<12xf32>
    %6 = prims.atan2 %5, %w : (tensor<12xf32>, tensor<12xf32>) -> tensor<12xf32>
    return %3, %4, %6 : tensor<12xf32>, tensor<12x12xf32>, tensor<12xf32>
  }
}
