// The lists of torch.autocast("cuda"), and both types of 16 bits.
// RUN: ptc compile %s --target cuda --amp fp16 --emit aten -o %t && FileCheck %s < %t
// RUN: ptc compile %s --amp fp16 --emit aten -o %t.cpu && FileCheck %s --check-prefix=CPU < %t.cpu

// Norms, softmax, sums and elementary functions return to float32, which on the CPU they do not.
// CHECK-LABEL: @forward
// CHECK: %[[Y:.*]] = aten.linear.default {{.*}} -> tensor<4x8xf16>
// CHECK: %[[WIDE:.*]] = aten._to_copy.default %[[Y]] {dtype = f32}
// CHECK: aten.layer_norm.default %[[WIDE]], %arg2 {{.*}} -> tensor<4x8xf32>
// CHECK: aten.softmax.int %[[WIDE]] {{.*}} -> tensor<4x8xf32>
// CHECK: aten.exp.default %[[WIDE]] {{.*}} -> tensor<4x8xf32>
// CPU-LABEL: @forward
// CPU: %[[Y:.*]] = aten.linear.default {{.*}} -> tensor<4x8xf16>
// CPU: aten.layer_norm.default %[[Y]], %arg2 {{.*}} -> tensor<4x8xf16>
// CPU: aten.softmax.int %[[Y]]
// CPU: aten.exp.default %[[Y]]

// A sum that names its type is left alone; the widest of what is added up decides; pooling takes what it is given.
// CHECK: %[[SUM:.*]] = aten.sum.dim_IntList %[[WIDE]] {dim = array<i64: 1>}
// CHECK: aten.sum.dim_IntList %[[Y]] {dim = array<i64: 0>, dtype = f32}
// CHECK: aten.addcmul.default %[[WIDE]], %[[WIDE]], %arg3
// CHECK: aten.addcmul.default %[[Y]], %[[Y]], %[[Y]] {{.*}} -> tensor<4x8xf16>
func.func @forward(%x: tensor<4x6xf32>, %w: tensor<8x6xf32>, %g: tensor<8xf32>, %z: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %y = aten.linear.default %x, %w : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %n = aten.layer_norm.default %y, %g {normalized_shape = array<i64: 8>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %n1 = aten.relu.default %n : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %s = aten.softmax.int %y {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = aten.exp.default %y : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = aten.sum.dim_IntList %y {dim = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %b = aten.sum.dim_IntList %y {dim = array<i64: 0>, dtype = f32} : (tensor<4x8xf32>) -> tensor<8xf32>
  %c = aten.addcmul.default %y, %y, %z : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = aten.addcmul.default %y, %y, %y : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %d1 = aten.relu.default %d : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %n1, %s, %e, %a, %b, %c, %d1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
