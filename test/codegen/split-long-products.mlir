// On the matrix unit, a product whose rows do not fit L2 as bfloat16 terms is a sum of two, each over a part of k; the
// epilogue follows the last. More rows are cut into blocks instead, and without the unit nothing changes.
// RUN: ptc-opt %s --march sapphirerapids -to-loop -fuse -split-long-products | FileCheck %s
// RUN: ptc-opt %s --march x86-64-v4 -to-loop -fuse -split-long-products | FileCheck %s --check-prefix=WHOLE

// CHECK-DAG: #[[ROW:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[LATER:map[0-9]*]] = affine_map<(d0, d1, d2) -> (d0, d2 + 1536)>
// CHECK: %[[SUM:.*]] = loop.kernel "{{.*}}_part0"
// CHECK: loop.contract %{{.*}}[#[[ROW]]]{{.*}} k array<i64: 1536>
// CHECK: loop.kernel {{.*}}%[[SUM]])
// CHECK: loop.contract %{{.*}}[#[[LATER]]]{{.*}} k array<i64: 1536>
// CHECK: arith.addf
// CHECK: math.tanh
// CHECK: loop.contract {{.*}} k array<i64: 3072>
// WHOLE-NOT: _part0
func.func @forward(%x: tensor<100x3072xf32> {ptc.input = "x"}, %more: tensor<160x3072xf32> {ptc.input = "more"},
                   %w: tensor<3072x256xf32> {ptc.weight = "w"})
    -> (tensor<100x256xf32> {ptc.output = "y"}, tensor<160x256xf32> {ptc.output = "z"}) {
  %p = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>,
                              rhs_contract = array<i64: 0>}
      : (tensor<100x3072xf32>, tensor<3072x256xf32>) -> tensor<100x256xf32>
  %y = prims.tanh %p : (tensor<100x256xf32>) -> tensor<100x256xf32>
  %z = prims.contract %more, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>,
                                 rhs_contract = array<i64: 0>}
      : (tensor<160x3072xf32>, tensor<3072x256xf32>) -> tensor<160x256xf32>
  return %y, %z : tensor<100x256xf32>, tensor<160x256xf32>
}
