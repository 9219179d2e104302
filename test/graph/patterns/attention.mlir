// Attention that a model spells out is the operator, but for rows without a score above -inf, where softmax is NaN.
// RUN: ptc-opt %s --patterns | FileCheck %s

// CHECK-LABEL: @plain
// CHECK: %[[A:.*]] = aten.scaled_dot_product_attention.default %arg0, %arg1, %arg2 {ptc.empty_is_nan, scale = 1.250000e-01
// CHECK: return %[[A]]
func.func @plain(%q: tensor<2x4x8x64xf32>, %k: tensor<2x4x9x64xf32>, %v: tensor<2x4x9x64xf32>) -> tensor<2x4x8x64xf32> {
  %t = aten.transpose.int %k {dim0 = -2 : i64, dim1 = -1 : i64} : (tensor<2x4x9x64xf32>) -> tensor<2x4x64x9xf32>
  %s = aten.matmul.default %q, %t : (tensor<2x4x8x64xf32>, tensor<2x4x64x9xf32>) -> tensor<2x4x8x9xf32>
  %d = aten.div.Scalar %s {other = 8.0 : f64} : (tensor<2x4x8x9xf32>) -> tensor<2x4x8x9xf32>
  %p = aten.softmax.int %d {dim = -1 : i64} : (tensor<2x4x8x9xf32>) -> tensor<2x4x8x9xf32>
  %r = aten.matmul.default %p, %v : (tensor<2x4x8x9xf32>, tensor<2x4x9x64xf32>) -> tensor<2x4x8x64xf32>
  return %r : tensor<2x4x8x64xf32>
}

// CHECK-LABEL: @masked
// CHECK: %[[KEPT:.*]] = aten.logical_not.default %arg3
// CHECK: %[[A:.*]] = aten.scaled_dot_product_attention.default %arg0, %{{.*}}, %arg2, %[[KEPT]]
// CHECK: return %[[A]]
func.func @masked(%q: tensor<4x8x16xf32>, %k: tensor<4x16x9xf32>, %v: tensor<4x9x16xf32>, %m: tensor<8x9xi1>) -> tensor<4x8x16xf32> {
  %s = aten.bmm.default %q, %k : (tensor<4x8x16xf32>, tensor<4x16x9xf32>) -> tensor<4x8x9xf32>
  %f = aten.masked_fill.Scalar %s, %m {value = 0xFFF0000000000000 : f64} : (tensor<4x8x9xf32>, tensor<8x9xi1>) -> tensor<4x8x9xf32>
  %p = aten.softmax.int %f {dim = -1 : i64} : (tensor<4x8x9xf32>) -> tensor<4x8x9xf32>
  %r = aten.bmm.default %p, %v : (tensor<4x8x9xf32>, tensor<4x9x16xf32>) -> tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}

// The probabilities are a result: they have to be computed.
// CHECK-LABEL: @probabilities_are_read
// CHECK-NOT: scaled_dot_product_attention
func.func @probabilities_are_read(%q: tensor<4x8x16xf32>, %k: tensor<4x16x9xf32>, %v: tensor<4x9x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x9xf32>) {
  %s = aten.bmm.default %q, %k : (tensor<4x8x16xf32>, tensor<4x16x9xf32>) -> tensor<4x8x9xf32>
  %p = aten.softmax.int %s {dim = -1 : i64} : (tensor<4x8x9xf32>) -> tensor<4x8x9xf32>
  %r = aten.bmm.default %p, %v : (tensor<4x8x9xf32>, tensor<4x9x16xf32>) -> tensor<4x8x16xf32>
  return %r, %p : tensor<4x8x16xf32>, tensor<4x8x9xf32>
}

// Attention has no kernel for features that only a call counts.
// CHECK-LABEL: @features_are_open
// CHECK-NOT: scaled_dot_product_attention
#q = affine_map<()[s0] -> (4, 8, s0)>
#k = affine_map<()[s0] -> (4, s0, 9)>
func.func @features_are_open(%q: tensor<4x8x?xf32, #q>, %k: tensor<4x?x9xf32, #k>, %v: tensor<4x9x16xf32>) -> tensor<4x8x16xf32> {
  %s = aten.bmm.default %q, %k : (tensor<4x8x?xf32, #q>, tensor<4x?x9xf32, #k>) -> tensor<4x8x9xf32>
  %p = aten.softmax.int %s {dim = -1 : i64} : (tensor<4x8x9xf32>) -> tensor<4x8x9xf32>
  %r = aten.bmm.default %p, %v : (tensor<4x8x9xf32>, tensor<4x9x16xf32>) -> tensor<4x8x16xf32>
  return %r : tensor<4x8x16xf32>
}
