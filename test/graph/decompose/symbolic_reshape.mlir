// RUN: ptc-opt --decompose %s | FileCheck %s
// What -1 stands for, the exporter has found out: the declared shape is taken.

#in = affine_map<()[s0] -> (s0, 8)>
#out = affine_map<()[s0] -> (s0 * 8)>
// CHECK-LABEL: @forward
func.func @forward(%x: tensor<?x8xf32, #in>) -> tensor<?xf32, #out> {
  // CHECK: prims.reshape %arg0 {sizes = #{{.*}}} : (tensor<?x8xf32, #{{.*}}>) -> tensor<?xf32, #{{.*}}>
  %0 = aten.view.default %x {size = array<i64: -1>} : (tensor<?x8xf32, #in>) -> tensor<?xf32, #out>
  return %0 : tensor<?xf32, #out>
}
