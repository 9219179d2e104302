// On the matrix unit, a product whose rows do not fit L2 as bf16 terms is a sum of two, each over a part of k; the epilogue
// follows the last. More rows are cut into blocks instead, and without the unit nothing changes.
// RUN: printf '\110\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[3072,256],"data_offsets":[0,3145728]}}     ' > %t.safetensors
// RUN: head -c 3145728 /dev/zero >> %t.safetensors
// RUN: ptc compile %s --weights %t.safetensors -o %t.mlir --emit loop --march sapphirerapids && FileCheck %s < %t.mlir
// RUN: ptc compile %s --weights %t.safetensors -o %t.4.mlir --emit loop --march x86-64-v4 && FileCheck %s --check-prefix=WHOLE < %t.4.mlir
// RUN: ptc compile %s --weights %t.safetensors -o %t.0.mlir --emit loop --march sapphirerapids --opt 0 && FileCheck %s --check-prefix=WHOLE < %t.0.mlir

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
  %p = aten.mm.default %x, %w : (tensor<100x3072xf32>, tensor<3072x256xf32>) -> tensor<100x256xf32>
  %y = aten.tanh.default %p : (tensor<100x256xf32>) -> tensor<100x256xf32>
  %z = aten.mm.default %more, %w : (tensor<160x3072xf32>, tensor<3072x256xf32>) -> tensor<160x256xf32>
  return %y, %z : tensor<100x256xf32>, tensor<160x256xf32>
}
