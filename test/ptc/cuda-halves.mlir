// Functions whose results are rounded to 16 bits are made of 2^x and 1/x, eight neighbours a thread; float keeps its own.
// What a member computes for those after it is no memory: several results of one tensor are vectors, too.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK-COUNT-8: ex2.approx.ftz.f32
// CHECK: cvt.rn.bf16x2.f32
// CHECK: st.global.v4.b32

// CHECK: .visible .entry
// CHECK: ld.global{{(.nc)?}}.v4.b32
// CHECK-DAG: div.full.ftz.f32
// CHECK-DAG: rcp.approx.ftz.f32
// CHECK-DAG: cvt.rn.f16x2.f32
// CHECK-NOT: setp.ne.b16
// CHECK: st.global.v4.b32

// CHECK: .visible .entry
// CHECK-NOT: approx
module {
  func.func @forward(%b: tensor<4096xbf16> {ptc.input = "b"}, %h: tensor<8192xf16> {ptc.input = "h"},
                     %f: tensor<2048xf32> {ptc.input = "f"})
      -> (tensor<4096xbf16> {ptc.output = "g"}, tensor<8192xf16> {ptc.output = "s"}, tensor<8192xf16> {ptc.output = "t"},
          tensor<2048xf32> {ptc.output = "e"}) {
    %g = aten.gelu.default %b {approximate = "none"} : (tensor<4096xbf16>) -> tensor<4096xbf16>
    %s = aten.silu.default %h : (tensor<8192xf16>) -> tensor<8192xf16>
    %t = aten.tanh.default %h : (tensor<8192xf16>) -> tensor<8192xf16>
    %e = aten.gelu.default %f {approximate = "none"} : (tensor<2048xf32>) -> tensor<2048xf32>
    return %g, %s, %t, %e : tensor<4096xbf16>, tensor<8192xf16>, tensor<8192xf16>, tensor<2048xf32>
  }
}
