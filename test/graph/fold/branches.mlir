// RUN: ptc-opt %s --merge-branches --split-input-file | FileCheck %s
// One convolution, whose weights are the sum of the branches'; constants are added up beside it.

// CHECK-LABEL: @three
// CHECK-SAME: %[[X:arg0]]: {{.*}} %[[W3:arg1]]: {{.*}} %[[W1:arg2]]: {{.*}} %[[S:arg3]]: tensor<4xf32> {{.*}} %[[T:arg4]]
// CHECK-DAG: %[[ONE:.*]] = prims.pad %[[W1]], {{.*}}high = array<i64: 0, 0, 1, 1>{{.*}}low = array<i64: 0, 0, 1, 1>
// CHECK-DAG: prims.pad {{.*}}high = array<i64: 0, 2, 0>{{.*}} : (tensor<2x1x2xf32>
// CHECK-DAG: %[[DIAGONAL:.*]] = prims.reshape {{.*}} -> tensor<4x2x1x1xf32>
// CHECK-DAG: %[[CENTRE:.*]] = prims.pad %[[DIAGONAL]], {{.*}}high = array<i64: 0, 0, 1, 1>{{.*}}low = array<i64: 0, 0, 1, 1>
// CHECK: %[[W:.*]] = prims.add %{{.*}}, %[[CENTRE]]
// CHECK: prims.convolution %[[X]], %[[W]] {{.*}}groups = 2
// CHECK-NOT: prims.convolution
// CHECK: return
func.func @three(%x: tensor<1x4x8x8xf32> {ptc.input = "x"}, %w3: tensor<4x2x3x3xf32> {ptc.weight = "w3"}, %w1: tensor<4x2x1x1xf32> {ptc.weight = "w1"}, %s: tensor<4xf32> {ptc.weight = "s"}, %t: tensor<4xf32> {ptc.weight = "t"}) -> tensor<1x4x8x8xf32> {
  %0 = prims.convolution %x, %w3 {strides = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = false} : (tensor<1x4x8x8xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x8x8xf32>
  %1 = prims.convolution %x, %w1 {strides = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, input_dilations = array<i64: 1, 1>, groups = 2 : i64, channels_last = false} : (tensor<1x4x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32>
  %2 = prims.broadcast_in_dim %t {sizes = array<i64: 1, 4, 8, 8>, dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %3 = prims.add %1, %2 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = prims.add %0, %3 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = prims.broadcast_in_dim %s {sizes = array<i64: 1, 4, 8, 8>, dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %6 = prims.mul %x, %5 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %7 = prims.add %4, %6 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %7 : tensor<1x4x8x8xf32>
}

// -----

// The kernel of one reads what no tap of the other reads; and a branch that has another reader stays.

// CHECK-LABEL: @apart
// CHECK-COUNT-3: prims.convolution
// CHECK-NOT: prims.convolution
func.func @apart(%x: tensor<1x4x8xf32> {ptc.input = "x"}, %w3: tensor<4x4x3xf32> {ptc.weight = "w3"}, %w1: tensor<4x4x1xf32> {ptc.weight = "w1"}) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>) {
  %0 = prims.convolution %x, %w3 {strides = array<i64: 1>, low = array<i64: 2>, high = array<i64: 2>, dilations = array<i64: 2>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x8xf32>, tensor<4x4x3xf32>) -> tensor<1x4x8xf32>
  %1 = prims.convolution %x, %w1 {strides = array<i64: 1>, low = array<i64: 1>, high = array<i64: -1>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x8xf32>, tensor<4x4x1xf32>) -> tensor<1x4x8xf32>
  %2 = prims.convolution %x, %w1 {strides = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, dilations = array<i64: 1>, input_dilations = array<i64: 1>, groups = 1 : i64, channels_last = false} : (tensor<1x4x8xf32>, tensor<4x4x1xf32>) -> tensor<1x4x8xf32>
  %3 = prims.add %0, %1 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %4 = prims.add %3, %2 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  return %4, %2 : tensor<1x4x8xf32>, tensor<1x4x8xf32>
}
