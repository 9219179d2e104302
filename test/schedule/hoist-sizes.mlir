// RUN: ptc-opt %s -decompose | FileCheck %s --check-prefix=PRIMS
// RUN: ptc-opt %s -decompose -to-loop -hoist-sizes -fuse | FileCheck %s

// The size of what a mask chooses is a result of its own, with a bound that the
// input's size gives.
// PRIMS-LABEL: func.func @forward
// PRIMS-SAME: tensor<i64> {ptc.defines = 1 : i64, ptc.most = [[MOST:.*]]})
// PRIMS: prims.reduce {{.*}}kind = "sum"
// PRIMS: prims.slice

// The kernel that counts stands before those whose types mention the symbol.
// CHECK-LABEL: func.func @forward
// CHECK: loop.reduce ["sum"]
// CHECK: } : tensor<i64>
// CHECK: loop.map
// CHECK: } : tensor<?xf32
#n = affine_map<()[s0] -> (s0)>
#u = affine_map<()[s0, s1] -> (s1)>
module attributes {ptc.symbols = [{name = "s0", min = 2 : i64, max = 100 : i64}, {name = "u0", min = 0 : i64, max = 100 : i64}]} {
func.func @forward(%x: tensor<?xf32, #n> {ptc.input = "x"}, %m: tensor<?xi1, #n> {ptc.input = "m"}) -> (tensor<?xf32, #u> {ptc.output = "y"}) {
  %0 = aten.masked_select.default %x, %m : (tensor<?xf32, #n>, tensor<?xi1, #n>) -> tensor<?xf32, #u>
  return %0 : tensor<?xf32, #u>
}
}
