// Each operator takes the type that torch.autocast gives it; a function's arguments and results keep theirs.
// RUN: ptc-opt %s --autocast | FileCheck %s

// One cast of x serves both; what follows a product computes in bf16, and a layer norm answers as its input, whatever
// its weight.
// CHECK-LABEL: @products
// CHECK-COUNT-1: aten._to_copy.default %arg0
// CHECK: %[[Y:.*]] = aten.linear.default {{.*}} -> tensor<4x8xbf16>
// CHECK-NOT: aten._to_copy.default %arg0
// CHECK: %[[Z:.*]] = aten.linear.default {{.*}} -> tensor<4x8xbf16>
// CHECK: %[[SUM:.*]] = aten.add.Tensor %[[Y]], %[[Z]] {{.*}} -> tensor<4x8xbf16>
// CHECK: %[[NORM:.*]] = aten.layer_norm.default %[[SUM]], %arg3 {{.*}}(tensor<4x8xbf16>, tensor<8xf32>) -> tensor<4x8xbf16>
// CHECK: %[[SOFT:.*]] = aten.softmax.int %[[NORM]] {{.*}} -> tensor<4x8xf32>
// CHECK: return %[[SOFT]]
func.func @products(%x: tensor<4x6xf32>, %v: tensor<8x6xf32>, %w: tensor<8x6xf32>, %g: tensor<8xf32>) -> tensor<4x8xf32> {
  %y = aten.linear.default %x, %v : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %z = aten.linear.default %x, %w : (tensor<4x6xf32>, tensor<8x6xf32>) -> tensor<4x8xf32>
  %s = aten.add.Tensor %y, %z : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = aten.layer_norm.default %s, %g {normalized_shape = array<i64: 8>} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %r = aten.softmax.int %n {dim = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// A sum with a float32 tensor is one, with a float32 number of no dimensions it is not; a loss returns to float32.
// CHECK-LABEL: @types_of_results
// CHECK: %[[Y:.*]] = aten.mm.default {{.*}} -> tensor<4x4xbf16>
// CHECK: aten.add.Tensor %[[Y]], %arg0 {{.*}} -> tensor<4x4xf32>
// CHECK: %[[SCALED:.*]] = aten.mul.Tensor %[[Y]], %arg1 {{.*}} -> tensor<4x4xbf16>
// CHECK: %[[WIDE:.*]] = aten._to_copy.default %[[SCALED]] {dtype = f32}
// CHECK: aten.mse_loss.default %[[WIDE]], %arg0
// CHECK: aten.cat.default %[[WIDE]], %arg0 {{.*}} -> tensor<8x4xf32>
func.func @types_of_results(%x: tensor<4x4xf32>, %n: tensor<f32>) -> (tensor<4x4xf32>, tensor<f32>, tensor<8x4xf32>) {
  %y = aten.mm.default %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = aten.add.Tensor %y, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = aten.relu.default %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = aten.mul.Tensor %y, %n : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %l = aten.mse_loss.default %m, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %c = aten.cat.default %m, %x {operand_segments = array<i32: 2, 0>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %b, %l, %c : tensor<4x4xf32>, tensor<f32>, tensor<8x4xf32>
}

// What names its type keeps it, and float64 is left alone.
// CHECK-LABEL: @as_they_are
// CHECK: %[[Y:.*]] = aten.mm.default {{.*}} -> tensor<4x4xbf16>
// CHECK: aten.softmax.int %[[Y]] {{.*}} -> tensor<4x4xf32>
// CHECK: aten.mm.default %arg1, %arg1 : (tensor<4x4xf64>
func.func @as_they_are(%x: tensor<4x4xf32>, %d: tensor<4x4xf64>) -> (tensor<4x4xf32>, tensor<4x4xf64>) {
  %y = aten.mm.default %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = aten.softmax.int %y {dim = -1 : i64, dtype = f32} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = aten.relu.default %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = aten.mm.default %d, %d : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %r, %e : tensor<4x4xf32>, tensor<4x4xf64>
}
