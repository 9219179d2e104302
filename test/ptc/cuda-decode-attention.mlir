// A head's keys are shared among blocks where there is one query: warps wait for their own copies alone, and a second
// grid puts together what the blocks found.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK: .visible .entry [[NAME:[A-Za-z0-9_]+]](
// CHECK: cp.async.cg.shared.global
// CHECK-DAG: bar.warp.sync
// CHECK-DAG: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: .visible .entry [[NAME]]_part2(
// CHECK-NOT: mma.sync
// CHECK: ex2.approx.ftz.f32
module {
  func.func @forward(%q: tensor<1x4x1x128xf16> {ptc.input = "q"}, %k: tensor<1x4x4096x128xf16> {ptc.input = "k"},
                     %v: tensor<1x4x4096x128xf16> {ptc.input = "v"})
      -> (tensor<1x4x1x128xf16> {ptc.output = "y"}) {
    %y = aten.scaled_dot_product_attention.default %q, %k, %v : (tensor<1x4x1x128xf16>, tensor<1x4x4096x128xf16>, tensor<1x4x4096x128xf16>) -> tensor<1x4x1x128xf16>
    return %y : tensor<1x4x1x128xf16>
  }
}
