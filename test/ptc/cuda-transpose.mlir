// A transpose passes through shared memory in tiles, by 16 bytes on both sides; what lies along the results is read there.
// Where a size is odd it is one element at a time, of which several are on their way.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: .maxntid 256
// CHECK: .shared .align 16 .b8 {{.*}}[16384]
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK: st.shared.v4.b32
// CHECK: bar.sync
// CHECK: ld.shared.v4.b32
// CHECK: st.global.v4.b32

// CHECK: .visible .entry
// CHECK: .maxntid 128
// CHECK: .shared .align 16 .b8 {{.*}}[16384]
// CHECK: st.shared.v4.b32
// CHECK: bar.sync
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK: st.global.v4.b32

// CHECK: .visible .entry
// CHECK-NOT: v4
// CHECK: ld.global{{(.nc)?}}.b32
// CHECK-NOT: st.shared
// CHECK: ld.global{{(.nc)?}}.b32
// CHECK: st.shared.b32
module {
  func.func @forward(%x: tensor<512x256xf32> {ptc.input = "x"}, %h: tensor<4x256x128xf16> {ptc.input = "h"},
                     %p: tensor<128x256xf16> {ptc.input = "p"}, %o: tensor<197x771xf32> {ptc.input = "o"})
      -> (tensor<256x512xf32> {ptc.output = "y"}, tensor<4x128x256xf16> {ptc.output = "z"},
          tensor<771x197xf32> {ptc.output = "q"}) {
    %t = aten.transpose.int %x {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<512x256xf32>) -> tensor<256x512xf32>
    %y = aten.relu.default %t : (tensor<256x512xf32>) -> tensor<256x512xf32>
    %u = aten.transpose.int %h {dim0 = 1 : i64, dim1 = 2 : i64} : (tensor<4x256x128xf16>) -> tensor<4x128x256xf16>
    %z = aten.add.Tensor %u, %p {alpha = 1 : i64} : (tensor<4x128x256xf16>, tensor<128x256xf16>) -> tensor<4x128x256xf16>
    %s = aten.transpose.int %o {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<197x771xf32>) -> tensor<771x197xf32>
    %q = aten.relu.default %s : (tensor<771x197xf32>) -> tensor<771x197xf32>
    return %y, %z, %q : tensor<256x512xf32>, tensor<4x128x256xf16>, tensor<771x197xf32>
  }
}
