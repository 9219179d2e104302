// Products of bytes whose depth is side by side are tensor cores', whatever their signs; others are fma's.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx --gpu-arch sm_80 && FileCheck %s < %t.ptx
// RUN: ptc compile %s -o %t90.ptx --target cuda --emit ptx --gpu-arch sm_90a && FileCheck %s --check-prefix=SM90 < %t90.ptx

// CHECK: .visible .entry
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32
// CHECK: .visible .entry
// CHECK: mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32
// CHECK: .visible .entry
// CHECK-NOT: mma.sync

// Drivers of CUDA 12.0 know wgmma of bytes of one sign alone.
// SM90: .version 8.0
// SM90: .visible .entry
// SM90: mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32
// SM90: .visible .entry
// SM90: cp.async.bulk.tensor.2d
// SM90: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k32.s32.s8.s8 {{.*}}, p;
// SM90: .visible .entry
// SM90-NOT: mma
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#deep = affine_map<(d0, d1, d2) -> (d1, d2)>
#rows = affine_map<(d0, d1, d2) -> (d2, d1)>
module {
  func.func @forward(%x: tensor<128x256xui8> {ptc.input = "x"}, %y: tensor<128x256xi8> {ptc.input = "y"},
                     %w: tensor<96x256xi8> {ptc.input = "w"}, %v: tensor<256x96xi8> {ptc.input = "v"})
      -> (tensor<128x96xi32> {ptc.output = "a"}, tensor<128x96xi32> {ptc.output = "b"},
          tensor<128x96xi32> {ptc.output = "c"}) {
    %a = loop.contract %x[#lhs], %w[#deep] batch 0 m 1 n 1 k array<i64: 256> {
    ^bb0(%m: index, %n: index, %sum: i32):
      loop.yield %sum : i32
    } : tensor<128x256xui8>, tensor<96x256xi8> -> tensor<128x96xi32>
    %b = loop.contract %y[#lhs], %w[#deep] batch 0 m 1 n 1 k array<i64: 256> {
    ^bb0(%m: index, %n: index, %sum: i32):
      loop.yield %sum : i32
    } : tensor<128x256xi8>, tensor<96x256xi8> -> tensor<128x96xi32>
    %c = loop.contract %x[#lhs], %v[#rows] batch 0 m 1 n 1 k array<i64: 256> {
    ^bb0(%m: index, %n: index, %sum: i32):
      loop.yield %sum : i32
    } : tensor<128x256xui8>, tensor<256x96xi8> -> tensor<128x96xi32>
    return %a, %b, %c : tensor<128x96xi32>, tensor<128x96xi32>, tensor<128x96xi32>
  }
}
