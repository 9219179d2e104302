// One form for every operator; what it prints, it reads back.
// RUN: ptc-opt %s | FileCheck %s
// RUN: ptc-opt %s | ptc-opt | FileCheck %s
// RUN: ptc-opt %s --mlir-print-op-generic | ptc-opt | FileCheck %s

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<2xf32>, %i: tensor<3xi64>) -> tensor<2xf32> {
  // CHECK: %[[Y:.*]] = aten.add.Tensor %arg0, %arg0 {alpha = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %y = aten.add.Tensor %x, %x {alpha = 2 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  // A list takes all operands that are left.
  // CHECK: aten.cat.default %[[Y]], %arg0 {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %c = aten.cat.default %y, %x {dim = 0 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  // x[None, i]
  // CHECK: aten.index.Tensor %{{.*}}, %arg1 {indices_present = array<i1: false, true>}
  %u = aten.view.default %c {size = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %n = aten.index.Tensor %u, %i {indices_present = array<i1: false, true>} : (tensor<2x2xf32>, tensor<3xi64>) -> tensor<2x3xf32>
  // CHECK: %{{.*}}:2 = aten.split.Tensor %{{.*}} {split_size = 1 : i64} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>)
  %s:2 = aten.split.Tensor %y {split_size = 1 : i64} : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xf32>)
  // Segments are printed only where they cannot be inferred: min is None here.
  // CHECK: aten.clamp.Tensor %{{.*}}, %arg0 {operand_segments = array<i32: 1, 0, 1>}
  %z = aten.clamp.Tensor %y, %x {operand_segments = array<i32: 1, 0, 1>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %z : tensor<2xf32>
}
