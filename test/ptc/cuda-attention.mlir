// Attention of 16-bit heads goes over the keys once, on tensor cores: keys and values come by cp.async, scores stay in
// registers, weights are powers of two. Of f32 a block has a query.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_80 --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry
// CHECK: .maxntid 128
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: shfl.sync.bfly.b32
// CHECK: ex2.approx.ftz.f32
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16

// CHECK: .visible .entry
// CHECK-NOT: mma.sync
// CHECK: fma.rn.f32
module {
  func.func @forward(%q: tensor<2x4x512x64xf16> {ptc.input = "q"}, %k: tensor<2x4x512x64xf16> {ptc.input = "k"},
                     %v: tensor<2x4x512x64xf16> {ptc.input = "v"}, %f: tensor<2x4x99x64xf32> {ptc.input = "f"})
      -> (tensor<2x4x512x64xf16> {ptc.output = "y"}, tensor<2x4x99x64xf32> {ptc.output = "z"}) {
    %y = aten.scaled_dot_product_attention.default %q, %k, %v : (tensor<2x4x512x64xf16>, tensor<2x4x512x64xf16>, tensor<2x4x512x64xf16>) -> tensor<2x4x512x64xf16>
    %z = aten.scaled_dot_product_attention.default %f, %f, %f : (tensor<2x4x99x64xf32>, tensor<2x4x99x64xf32>, tensor<2x4x99x64xf32>) -> tensor<2x4x99x64xf32>
    return %y, %z : tensor<2x4x512x64xf16>, tensor<2x4x99x64xf32>
  }
}
