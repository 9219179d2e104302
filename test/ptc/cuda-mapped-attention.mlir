// Attention of 16-bit heads on sm_90a: a warpgroup has the copy engine bring queries, keys and values, and others
// multiply, with weights in registers. The scores of some keys, and the values of those before by their weights, are on
// their way at the same time.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: .maxntid 384
// CHECK: setmaxnreg.dec.sync.aligned.u32
// CHECK-COUNT-3: cp.async.bulk.tensor.4d.shared::cluster.global.tile
// CHECK: setmaxnreg.inc.sync.aligned.u32
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 0
// CHECK: ex2.approx.ftz.f32
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK-COUNT-8: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{.*}}}, {%r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}}, %rd
// CHECK: wgmma.wait_group.sync.aligned 1
// CHECK: wgmma.wait_group.sync.aligned 0
module {
  func.func @forward(%q: tensor<8x40x512x64xf16> {ptc.input = "q"}, %k: tensor<8x40x512x64xf16> {ptc.input = "k"},
                     %v: tensor<8x40x512x64xf16> {ptc.input = "v"})
      -> (tensor<8x40x512x64xf16> {ptc.output = "y"}) {
    %y = aten.scaled_dot_product_attention.default %q, %k, %v : (tensor<8x40x512x64xf16>, tensor<8x40x512x64xf16>, tensor<8x40x512x64xf16>) -> tensor<8x40x512x64xf16>
    return %y : tensor<8x40x512x64xf16>
  }
}
