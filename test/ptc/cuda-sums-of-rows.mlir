// Rows, beside their largest number, and columns are added up in one kernel. The threads of a warp share a row: one thread alone would lose what is
// small beside the sum so far.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry ptc_kernel_reduce_
// CHECK: shfl.sync.bfly
// CHECK: bar.sync
// CHECK: shfl.sync.bfly
// CHECK: bar.sync
// CHECK: st.global
// CHECK-NOT: .entry
module {
  func.func @forward(%x: tensor<4x1000xf32> {ptc.input = "x"}) -> (tensor<1000xf32> {ptc.output = "y"}) {
    %m = prims.reduce %x {dims = array<i64: 1>, kind = "max"} : (tensor<4x1000xf32>) -> tensor<4xf32>
    %a = prims.broadcast_in_dim %m {dims = array<i64: 0>, sizes = array<i64: 4, 1000>} : (tensor<4xf32>) -> tensor<4x1000xf32>
    %p = prims.mul %x, %a : (tensor<4x1000xf32>, tensor<4x1000xf32>) -> tensor<4x1000xf32>
    %s = prims.reduce %p {dims = array<i64: 1>, kind = "sum"} : (tensor<4x1000xf32>) -> tensor<4xf32>
    %b = prims.broadcast_in_dim %s {dims = array<i64: 0>, sizes = array<i64: 4, 1000>} : (tensor<4xf32>) -> tensor<4x1000xf32>
    %q = prims.div %x, %b : (tensor<4x1000xf32>, tensor<4x1000xf32>) -> tensor<4x1000xf32>
    %y = prims.reduce %q {dims = array<i64: 0>, kind = "sum"} : (tensor<4x1000xf32>) -> tensor<1000xf32>
    return %y : tensor<1000xf32>
  }
}
