// Sizes may be symbols: the split's places are expressions.
// RUN: ptc-opt %s --functionalize | FileCheck %s

#x = affine_map<()[s0] -> (s0 * 2)>
#h = affine_map<()[s0] -> (s0)>
module attributes {ptc.symbols = [{name = "n", min = 2 : i64, max = -1 : i64}]} {
  // CHECK-DAG: #[[X:.*]] = affine_map<()[s0] -> (s0 * 2)>
  // CHECK-DAG: #[[H:.*]] = affine_map<()[s0] -> (s0)>
  // CHECK-LABEL: func.func @forward
  func.func @forward(%x: tensor<?xf32, #x> {ptc.input = "x"}) {
    // CHECK: %[[P:.*]]:2 = aten.chunk.default %arg0
    %p:2 = aten.chunk.default %x {chunks = 2 : i64} : (tensor<?xf32, #x>) -> (tensor<?xf32, #h>, tensor<?xf32, #h>)
    // CHECK: %[[A:.*]] = aten.add.Tensor %[[P]]#1, %[[P]]#0
    // CHECK: aten.slice_scatter.default %arg0, %[[A]] {dim = 0 : i64, end = #[[X]], start = #[[H]]}
    %a = aten.add_.Tensor %p#1, %p#0 : (tensor<?xf32, #h>, tensor<?xf32, #h>) -> tensor<?xf32, #h>
    return
  }
}
