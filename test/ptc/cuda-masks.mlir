// Lanes of a vector that are known not to be in the tensor: nothing is read there, and what they are instead is stored.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: ld.global.v2.b32 {[[FIRST:%r[0-9]+]], [[SECOND:%r[0-9]+]]}, [
// CHECK: st.global.v4.b32 [{{.*}}], {[[FIRST]], [[SECOND]], [[PADDING:%r[0-9]+]], [[PADDING]]};
module {
  func.func @forward(%x: tensor<2xf32> {ptc.input = "x"}, %padding: tensor<f32> {ptc.input = "padding"})
      -> (tensor<4xf32> {ptc.output = "y"}) {
    %y = prims.pad %x, %padding {high = array<i64: 2>, interior = array<i64: 0>, low = array<i64: 0>}
        : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
