// Sums of columns: a thread has four neighbours and some of the rows, of which four are on their way; what the groups of
// threads have is combined in shared memory.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: .maxntid 256
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK-NOT: bra
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK-NOT: bra
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK-NOT: bra
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK: st.shared.v4.b32
// CHECK: bar.sync
// CHECK: ld.shared.v4.b32
// CHECK: st.global.v4.b32
module {
  func.func @forward(%x: tensor<128x64xf32> {ptc.input = "x"}) -> (tensor<64xf32> {ptc.output = "y"}) {
    %y = aten.sum.dim_IntList %x {dim = array<i64: 0>, keepdim = false} : (tensor<128x64xf32>) -> tensor<64xf32>
    return %y : tensor<64xf32>
  }
}
