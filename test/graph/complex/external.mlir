// RUN: ptc-opt --lower-complex %s | FileCheck %s
// The caller's function sees complex tensors: pairs as they lie in memory, with the types in the signature.

// CHECK-LABEL: func.func @forward(
// CHECK: %[[PAIRS:.*]] = prims.concatenate
// CHECK: %[[Y:.*]]:2 = control.external "mylib::turn.default" {{.*}}(%[[PAIRS]])
// CHECK-SAME: ptc.reason = "why"
// CHECK-SAME: signature = (tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, none)
// CHECK-SAME: (tensor<3x2xf32>) -> (tensor<3x2xf32>, none)
// CHECK: prims.slice %[[Y]]#0
// CHECK-NOT: prims.neg {{.*}}complex
func.func @forward(%x: tensor<3xcomplex<f32>> {ptc.input = "x"}) -> (tensor<3xcomplex<f32>> {ptc.output = "y"}) {
  %0 = prims.neg %x : (tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %1:2 = control.external "mylib::turn.default" "{\"args\":[{\"tensor\":0}],\"kwargs\":{}}"(%0) {ptc.reason = "why"}
    : (tensor<3xcomplex<f32>>) -> (tensor<3xcomplex<f32>>, none)
  return %1#0 : tensor<3xcomplex<f32>>
}
