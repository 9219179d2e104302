// A target has the sizes of the output, whatever they are.
// RUN: ptc-opt %s --add-loss=loss=nll | FileCheck %s

#x = affine_map<()[s0] -> (s0 * 2, 3)>
#t = affine_map<()[s0] -> (s0 * 2)>
module attributes {ptc.symbols = [{name = "n", min = 2 : i64, max = -1 : i64}]} {
  // CHECK-DAG: #[[X:.*]] = affine_map<()[s0] -> (s0 * 2, 3)>
  // CHECK-DAG: #[[T:.*]] = affine_map<()[s0] -> (s0 * 2)>
  // CHECK-LABEL: func.func @forward
  // CHECK-SAME: (%arg0: tensor<?x3xf32, #[[X]]> {ptc.input = "x"}, %arg1: tensor<?xi64, #[[T]]> {ptc.input = "target"})
  // CHECK: aten.nll_loss_nd.default %arg0, %arg1
  func.func @forward(%x: tensor<?x3xf32, #x> {ptc.input = "x"}) -> (tensor<?x3xf32, #x> {ptc.output = "y"}) {
    return %x : tensor<?x3xf32, #x>
  }
}
