// Products of 16-bit floats are tensor cores', by mma.sync from tiles that cp.async brings, or with sm_90a by wgmma from
// those that the copy engine brings, with warpgroups that take turns; those of f32 are fma's, from tiles that cp.async
// brings too, but where neighbours along the depth are to lie apart: these come by way of registers. A depth that is
// cut takes two grids. By one row the other operand is multiplied on its way from memory.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx --gpu-arch sm_80 && FileCheck %s < %t.ptx
// RUN: ptc compile %s -o %t90.ptx --target cuda --emit ptx --gpu-arch sm_90a && FileCheck %s --check-prefix=WGMMA < %t90.ptx

// CHECK: .extern .shared .align 1024 .b8 {{.*}}_memory[];
// CHECK: .visible .entry ptc_kernel_contract
// CHECK: cp.async.cg.shared.global
// CHECK: cp.async.commit_group
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK: bar.warp.sync
// CHECK: st.global{{.*}}v4.b32

// CHECK: .visible .entry
// CHECK-NOT: mma.sync
// CHECK: cp.async.cg.shared.global
// CHECK: ld.global{{.*}}v4
// CHECK-COUNT-4: st.shared.b32
// CHECK-NOT: cp.async.ca
// CHECK: ld.shared.v4
// CHECK: fma.rn.f32

// CHECK: .visible .entry
// CHECK: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// CHECK: .visible .entry {{.*}}_part2(
// CHECK: add.rn.f32

// CHECK: .visible .entry
// CHECK-NOT: bar.warp.sync
// CHECK-NOT: cp.async
// CHECK: ld.global{{.*}}v4.b32
// CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32

// WGMMA: .visible .entry ptc_kernel_contract
// WGMMA-NOT: mma.sync
// WGMMA: mbarrier.init.shared
// WGMMA-DAG: cp.async.bulk.tensor.2d
// WGMMA-DAG: setmaxnreg.inc.sync.aligned.u32
// WGMMA-DAG: bar.arrive 1, 256
// WGMMA-DAG: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.f16.f16 {{.*}}, p, 1, 1, 0, 0
// WGMMA-DAG: wgmma.wait_group.sync.aligned 1
// WGMMA: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0, 1
module {
  func.func @forward(%x: tensor<4096x768xf16> {ptc.input = "x"}, %w: tensor<3072x768xf16> {ptc.input = "w"},
                     %b: tensor<3072xf16> {ptc.input = "b"}, %u: tensor<512x512xf32> {ptc.input = "u"},
                     %v: tensor<512x512xf32> {ptc.input = "v"}, %p: tensor<64x4096xbf16> {ptc.input = "p"},
                     %q: tensor<4096x64xbf16> {ptc.input = "q"}, %r: tensor<1x768xf16> {ptc.input = "r"})
      -> (tensor<4096x3072xf16> {ptc.output = "s"}, tensor<512x512xf32> {ptc.output = "t"},
          tensor<64x64xbf16> {ptc.output = "y"}, tensor<1x3072xf16> {ptc.output = "z"}) {
    %s = aten.linear.default %x, %w, %b : (tensor<4096x768xf16>, tensor<3072x768xf16>, tensor<3072xf16>) -> tensor<4096x3072xf16>
    %t = aten.mm.default %u, %v : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    %y = aten.mm.default %p, %q : (tensor<64x4096xbf16>, tensor<4096x64xbf16>) -> tensor<64x64xbf16>
    %z = aten.linear.default %r, %w, %b : (tensor<1x768xf16>, tensor<3072x768xf16>, tensor<3072xf16>) -> tensor<1x3072xf16>
    return %s, %t, %y, %z : tensor<4096x3072xf16>, tensor<512x512xf32>, tensor<64x64xbf16>, tensor<1x3072xf16>
  }
}
