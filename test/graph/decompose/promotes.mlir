// RUN: ptc-opt --decompose %s | FileCheck %s
// Types promote as in PyTorch, and half types compute in f32 with one rounding an operator.

// CHECK-LABEL: @integer_division_is_floating
func.func @integer_division_is_floating(%x: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: prims.convert %arg0 {dtype = f32}
  // CHECK: prims.div {{.*}} : (tensor<4xf32>, tensor<4xf32>)
  %0 = aten.div.Scalar %x {other = 2 : i64} : (tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @half_computes_in_f32
func.func @half_computes_in_f32(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  // CHECK: prims.convert %arg0 {dtype = f32}{{.*}}bf16
  // CHECK-NOT: bf16
  // CHECK: prims.convert {{.*}} {dtype = bf16}
  %0 = aten.silu.default %x : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: @number_keeps_the_tensors_type
func.func @number_keeps_the_tensors_type(%x: tensor<4xf16>) -> tensor<4xf16> {
  // CHECK: prims.full {sizes = array<i64: 4>, value = 2.500000e+00 : f32}
  %0 = aten.mul.Scalar %x {other = 2.5 : f64} : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// The products are added up in f32, and so is the bias.
// CHECK-LABEL: @bias_before_rounding
func.func @bias_before_rounding(%x: tensor<2x3xbf16>, %w: tensor<4x3xbf16>, %b: tensor<4xbf16>) -> tensor<2x4xbf16> {
  // CHECK: prims.contract {{.*}} : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xf32>
  // CHECK: prims.add {{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>)
  // CHECK: prims.convert {{.*}} {dtype = bf16}
  %0 = aten.linear.default %x, %w, %b : (tensor<2x3xbf16>, tensor<4x3xbf16>, tensor<4xbf16>) -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}
