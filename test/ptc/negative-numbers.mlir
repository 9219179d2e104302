// The largest value of a number may be -1, which is no open range.
// RUN: ptc compile %s -o %t.so
// RUN: printf '\065\0\0\0\0\0\0\0{"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}\375\377\377\377\377\377\377\377' > %t.in
// RUN: ptc run %t.so --inputs %t.in --outputs %t.out
// RUN: ptc run --reference %s --inputs %t.in --outputs %t.out
// RUN: printf '\065\0\0\0\0\0\0\0{"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}\005\0\0\0\0\0\0\0' > %t.in
// RUN: not ptc run %t.so --inputs %t.in --outputs %t.out 2>&1 | FileCheck %s
// CHECK: input 'n' (0): is 5, allowed: -7..-1 (s0)
#size = affine_map<()[s0] -> (s0 + 8)>
module attributes {ptc.symbols = [{name = "s0", min = -7 : i64, max = -1 : i64}]} {
  func.func @forward(%n: tensor<i64> {ptc.binds = 0 : i64, ptc.input = "n"}) -> (tensor<?xi64, #size> {ptc.output = "y"}) {
    %0 = aten.arange.default {end = #size, dtype = i64} : () -> tensor<?xi64, #size>
    return %0 : tensor<?xi64, #size>
  }
}
