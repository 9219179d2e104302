// RUN: ptc-opt %s --rematerialise="budget=1" | FileCheck %s --check-prefixes=CHECK,AGAIN,CHEAP
// RUN: ptc-opt %s --rematerialise="budget=0.5" | FileCheck %s --check-prefixes=CHECK,AGAIN,HALF
// RUN: ptc-opt %s --rematerialise | FileCheck %s --check-prefixes=CHECK,NONE

// What the first result needs is the forward pass, and stays as it is.
// CHECK-LABEL: @forward
// CHEAP-SAME: ptc.repeated = [{bytes = 8192 : i64, cheap = true, {{[^}]*}}op = "tanh"{{[^}]*}}}, {{[^}]*}}op = "tanh"{{[^}]*}}}],
// CHEAP-SAME: ptc.saved = [{{[^}]*}}op = "contract"{{[^}]*}}}, {{[^}]*}}op = "contract"
// HALF-SAME: ptc.repeated = [{bytes = 8192 : i64, cheap = false, {{[^}]*}}op = "contract"
// NONE-NOT: ptc.forward
// NONE-NOT: ptc.saved
// CHECK: %[[A1:.*]] = prims.contract %[[X:[^ ,]*]], %[[W:[^ ,]*]] {
// CHECK: %[[T1:.*]] = prims.tanh %[[A1]]
// CHECK: %[[A2:.*]] = prims.contract %[[T1]], %[[W]] {
// CHECK: %[[T2:.*]] = prims.tanh %[[A2]]
// CHECK: prims.reduce %[[T2]]
func.func @forward(%x: tensor<64x32xf32> {ptc.input = "x"}, %w: tensor<32x32xf32> {ptc.state = "w"})
    -> (tensor<f32> {ptc.output = "0"}, tensor<64x32xf32> {ptc.output = "grad.0"}) attributes {ptc.forward = 1} {
  %a1 = prims.contract %x, %w {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %t1 = prims.tanh %a1 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %a2 = prims.contract %t1, %w {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 0>} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %t2 = prims.tanh %a2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %loss = prims.reduce %t2 {kind = "sum", dims = array<i64: 0, 1>} : (tensor<64x32xf32>) -> tensor<f32>
  // What is cheap is computed again in front of its first reader, of what is saved behind a barrier.
  // AGAIN: %[[B2:.*]] = control.fusion_barrier %[[A2]]
  // AGAIN: %[[T2AGAIN:.*]] = prims.tanh %[[B2]]
  // AGAIN: prims.mul %[[T2AGAIN]], %[[A2]]
  // NONE: prims.mul %[[T2]], %[[A2]]
  %g2 = prims.mul %t2, %a2 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  // The backward pass reads arguments behind barriers, too: no kernel of the forward pass does something for it.
  // AGAIN: %[[WB:.*]] = control.fusion_barrier %[[W]]
  // AGAIN: %[[G1:.*]] = prims.contract %{{.*}}, %[[WB]] {
  // NONE: %[[G1:.*]] = prims.contract %{{.*}}, %[[W]] {
  %g1 = prims.contract %g2, %w {lhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_batch = array<i64>, rhs_contract = array<i64: 1>} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  // Of half the bytes, one product is as well: the first, whose copy runs when the second is not needed any more.
  // CHEAP: %[[B1:.*]] = control.fusion_barrier %[[A1]]
  // HALF: %[[BX:.*]] = control.fusion_barrier %[[X]]
  // HALF: %[[BW:.*]] = control.fusion_barrier %[[W]]
  // HALF: %[[B1:.*]] = prims.contract %[[BX]], %[[BW]]
  // AGAIN: %[[T1AGAIN:.*]] = prims.tanh %[[B1]]
  // AGAIN: %[[G:.*]] = prims.mul %[[G1]], %[[T1AGAIN]]
  // NONE: %[[G:.*]] = prims.mul %[[G1]], %[[T1]]
  %g = prims.mul %g1, %t1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  // CHEAP: prims.mul %[[G]], %[[A1]]
  // HALF: prims.mul %[[G]], %[[B1]]
  %h = prims.mul %g, %a1 : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  return %loss, %h : tensor<f32>, tensor<64x32xf32>
}
