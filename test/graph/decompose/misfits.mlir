// RUN: not ptc-opt --decompose %s 2>&1 | FileCheck %s
// What PyTorch would have refused is an error at its operation, not a crash, whatever notices it: a prim's operands, a
// dimension that is not there, a list that is too short, a result that is not what the graph says.

// CHECK: error: operator aten.mm.default does not fit the graph
// CHECK: note: prims.contract: {{.*}}
// CHECK: error: operator aten.sum.dim_IntList does not fit the graph
// CHECK: note: there is no dimension 7 among 2
// CHECK: error: operator aten.rot90.default does not fit the graph
// CHECK: note: a list of 1 elements is too short
// CHECK: error: operator aten.relu.default does not fit the graph
// CHECK: note: result 0 is tensor<4x8xf32>, but the graph says tensor<4x9xf32>
// CHECK: error: operator aten.instance_norm.default does not fit the graph
// CHECK: note: the running mean and variance are missing, or one of them
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4x9xf32>, tensor<4x8xf32>) {
  %0 = aten.mm.default %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = aten.sum.dim_IntList %x {dim = array<i64: 7>} : (tensor<4x8xf32>) -> tensor<4xf32>
  %2 = aten.rot90.default %x {k = 1, dims = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %3 = aten.relu.default %x : (tensor<4x8xf32>) -> tensor<4x9xf32>
  %4 = aten.instance_norm.default %x {use_input_stats = false, momentum = 0.1, eps = 1.0e-5, cudnn_enabled = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0, %1, %2, %3, %4 : tensor<4x8xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4x9xf32>, tensor<4x8xf32>
}
