// RUN: ptc-opt %s -to-loop -fuse | FileCheck %s

// Heads that are cut out of a projection stay where they are, as for attention; few heads are cut into parts of keys,
// whose shares of dq are added up; a log-sum-exp that nobody reads is not computed.

// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 * 16 + d3)>
// CHECK-LABEL: func.func @heads
// CHECK: loop.kernel
// CHECK: loop.attention_gradient %{{.*}}[#[[Q]]], %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}[#{{.*}}], %{{.*}}, %{{.*}} {causal = true, group = 4 : i64, scale = 2.500000e-01 : f64}
// CHECK-SAME: -> tensor<4x2x8x1024x16xf32>, tensor<2x2x1024x16xf32>, tensor<2x2x1024x16xf32>
// CHECK: loop.kernel
// CHECK: loop.reduce ["sum"] over array<i64: 4>
// CHECK: tensor<4x2x8x1024x16xf32>
// CHECK-NOT: loop.kernel
func.func @heads(%q: tensor<2x1024x128xf32>, %k: tensor<2x2x1024x16xf32>, %g: tensor<2x8x1024x16xf32>, %l: tensor<2x8x1024xf32>) -> (tensor<2x8x1024x16xf32>, tensor<2x2x1024x16xf32>) {
  %0 = prims.reshape %q {sizes = array<i64: 2, 1024, 8, 16>} : (tensor<2x1024x128xf32>) -> tensor<2x1024x8x16xf32>
  %1 = prims.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x1024x8x16xf32>) -> tensor<2x8x1024x16xf32>
  %dq, %dk, %dv = prims.attention_gradient %1, %k, %k, %g, %l, %l {scale = 0.25, causal = true} : (tensor<2x8x1024x16xf32>, tensor<2x2x1024x16xf32>, tensor<2x2x1024x16xf32>, tensor<2x8x1024x16xf32>, tensor<2x8x1024xf32>, tensor<2x8x1024xf32>) -> (tensor<2x8x1024x16xf32>, tensor<2x2x1024x16xf32>, tensor<2x2x1024x16xf32>)
  return %dq, %dk : tensor<2x8x1024x16xf32>, tensor<2x2x1024x16xf32>
}

// An epilogue leaves log-sum-exp the last result.
// CHECK-LABEL: func.func @rows
// CHECK: loop.attention
// CHECK: with_logsumexp
// CHECK-SAME: -> tensor<2x5x16xf32>, tensor<2x5xf32>
// CHECK-NOT: loop.map
func.func @rows(%x: tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x5xf32>) {
  %y, %l = prims.attention %x, %x, %x {scale = 0.25, causal = true, with_logsumexp} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x5xf32>)
  %z = prims.exp %y : (tensor<2x5x16xf32>) -> tensor<2x5x16xf32>
  return %z, %l : tensor<2x5x16xf32>, tensor<2x5xf32>
}

// CHECK-LABEL: func.func @unread
// CHECK-NOT: with_logsumexp
func.func @unread(%x: tensor<2x5x16xf32>) -> tensor<2x5x16xf32> {
  %y, %l = prims.attention %x, %x, %x {scale = 0.25, causal = true, with_logsumexp} : (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x5xf32>)
  return %y : tensor<2x5x16xf32>
}
