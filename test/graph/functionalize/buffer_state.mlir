// A buffer that the program writes becomes state, whatever it was exported as.
// RUN: ptc-opt %s --functionalize | FileCheck %s

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %arg1: tensor<i64> {ptc.state = "steps"}
// CHECK-SAME: tensor<i64> {ptc.writes_state = "steps"}
func.func @forward(%x: tensor<2xf32> {ptc.input = "x"}, %steps: tensor<i64> {ptc.weight = "steps"}) -> tensor<2xf32> {
  // CHECK: %[[N:.*]] = aten.add.Scalar %arg1 {other = 1 : i64}
  %n = aten.add_.Scalar %steps {other = 1 : i64} : (tensor<i64>) -> tensor<i64>
  // CHECK: return %arg0, %[[N]]
  return %x : tensor<2xf32>
}
