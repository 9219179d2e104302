// A reduction over nothing is a point of its own: a block for each row computes it once, between a sum and a map.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry ptc_kernel_reduce_
// CHECK: bar.sync
// CHECK: st.global.b64
// CHECK: st.global.v{{[24]}}.b32
// CHECK-NOT: .entry
module {
  func.func @forward(%x: tensor<5x320xf32> {ptc.input = "x"})
      -> (tensor<5xi64> {ptc.output = "y"}, tensor<5x320xf32> {ptc.output = "z"}) {
    %s = prims.reduce %x {dims = array<i64: 1>, kind = "sum"} : (tensor<5x320xf32>) -> tensor<5xf32>
    %y = prims.arg_reduce_window %s {dilations = array<i64: 1>, high = array<i64: 0>, low = array<i64: 0>, spatial = 1 : i64,
                                     strides = array<i64: 1>, window = array<i64: 1>} : (tensor<5xf32>) -> tensor<5xi64>
    %c = prims.convert %y {dtype = f32} : (tensor<5xi64>) -> tensor<5xf32>
    %b = prims.broadcast_in_dim %c {dims = array<i64: 0>, sizes = array<i64: 5, 320>} : (tensor<5xf32>) -> tensor<5x320xf32>
    %z = prims.mul %x, %b : (tensor<5x320xf32>, tensor<5x320xf32>) -> tensor<5x320xf32>
    return %y, %z : tensor<5xi64>, tensor<5x320xf32>
  }
}
