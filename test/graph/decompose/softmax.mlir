// RUN: ptc-opt --decompose %s | FileCheck %s
// The maximum is subtracted first, so that nothing overflows.

// CHECK-LABEL: @forward
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[MAX:.*]] = prims.reduce %arg0 {dims = array<i64: 1>, kind = "max"}
  // CHECK: %[[WIDE:.*]] = prims.broadcast_in_dim %[[MAX]]
  // CHECK: %[[SHIFTED:.*]] = prims.sub %arg0, %{{.*}}
  // CHECK: %[[EXP:.*]] = prims.exp %[[SHIFTED]]
  // CHECK: prims.reduce %[[EXP]] {dims = array<i64: 1>, kind = "sum"}
  // CHECK: prims.div %[[EXP]]
  %0 = aten.softmax.int %x {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
