// RUN: not ptc-opt --decompose=fallback %s 2>&1 | FileCheck %s
// What the caller cannot compute either, with the reason.

#n = affine_map<()[s0] -> (s0)>
#u = affine_map<()[s0, s1] -> (s1)>
module attributes {ptc.symbols = [{name = "s0", min = 2 : i64, max = 9 : i64}, {name = "u0", min = 0 : i64, max = 9 : i64}]} {
func.func @forward(%x: tensor<?xf32, #n> {ptc.input = "x"}) -> (tensor<?xf32, #u>, tensor<?xf32, #n>, tensor<i64>) {
  // CHECK: operator aten.custom.mylib.choose.default is not supported
  // CHECK: it cannot be left to the caller: the size u0 of its result 0 would be known only when it has run
  %0 = aten.custom.mylib.choose.default %x {arg0 = 0 : index} : (tensor<?xf32, #n>) -> tensor<?xf32, #u>
  // CHECK: nobody takes a result of it: what it writes to its arguments would be lost
  aten.custom.mylib.bump_.default %x {arg0 = 0 : index} : (tensor<?xf32, #n>) -> ()
  // CHECK: it is no operator of a library
  %1 = aten.custom.torch.vmap %x {arg0 = 0 : index} : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  // CHECK: it updates a part of a tensor
  %2 = aten.higher_order.auto_functionalized_v2 %x : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  // CHECK: it answers a number, which sizes may depend on
  %3 = aten.custom.mylib.count.default %1 {arg0 = 0 : index, ptc.binds = 1 : i64} : (tensor<?xf32, #n>) -> tensor<i64>
  // CHECK: its arguments have no form as text
  %4 = aten.custom.mylib.wrong.default %2 {arg0 = 9 : index} : (tensor<?xf32, #n>) -> tensor<?xf32, #n>
  return %0, %4, %3 : tensor<?xf32, #u>, tensor<?xf32, #n>, tensor<i64>
}
}
