// RUN: ptc-opt %s -decompose=fallback -to-loop -fuse -hoist-sizes | FileCheck %s

// Where data decide a size, the caller's functions stay behind what computes their inputs, and in their order.
// CHECK-LABEL: func.func @forward
// CHECK: control.external "mylib::first.default"
// CHECK: loop.reduce ["sum"]
// CHECK: loop.map
// CHECK: control.external "mylib::second.default"
// CHECK: loop.map
#n = affine_map<()[s0] -> (s0)>
#u = affine_map<()[s0, s1] -> (s1)>
module attributes {ptc.symbols = [{name = "s0", min = 2 : i64, max = 100 : i64}, {name = "u0", min = 0 : i64, max = 100 : i64}]} {
func.func @forward(%x: tensor<?xf32, #n> {ptc.input = "x"}, %m: tensor<?xi1, #n> {ptc.input = "m"}) -> (tensor<?xf32, #u> {ptc.output = "y"}) {
  %0 = aten.custom.mylib.first.default %x {arg0 = 0 : index} : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  %1 = aten.masked_select.default %0, %m : (tensor<?xf32, #n>, tensor<?xi1, #n>) -> tensor<?xf32, #u>
  %2 = aten.custom.mylib.second.default %1 {arg0 = 0 : index} : (tensor<?xf32, #u>) -> tensor<?xf32, #u>
  %3 = aten.exp.default %2 : (tensor<?xf32, #u>) -> tensor<?xf32, #u>
  return %3 : tensor<?xf32, #u>
}
}
