// Products of float64 are tensor cores'; those of float32 are where --fp32-precision says that they may be rounded to
// tf32, and a library of the one is not found in a cache for the other. On a CPU there is no tf32.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx --gpu-arch sm_80 --fp32-precision tf32 && FileCheck %s < %t.ptx
// RUN: ptc compile %s -o %t90.ptx --target cuda --emit ptx --gpu-arch sm_90a --fp32-precision tf32 && FileCheck %s --check-prefix=SM90 < %t90.ptx
// RUN: ptc compile %s -o %t.ieee.ptx --target cuda --emit ptx --fp32-precision ieee && FileCheck %s --check-prefix=IEEE < %t.ieee.ptx
// RUN: ptc explain %s --target cuda --ptxas none --fp32-precision tf32 | FileCheck %s --check-prefix=EXPLAIN
// RUN: ptc compile %s -o %t.tf32.so --target cuda --ptxas none --cache %t.cache --fp32-precision tf32
// RUN: ptc compile %s -o %t.ieee.so --target cuda --ptxas none --cache %t.cache
// RUN: grep -c "cvt.rna.tf32" %t.tf32.so && not grep -c "cvt.rna.tf32" %t.ieee.so
// RUN: not ptc compile %s -o %t.cpu.so --fp32-precision tf32 2>&1 | FileCheck %s --check-prefix=CPU

// Rows side by side are read one by one, a depth that is side by side by ldmatrix.
// CHECK: .visible .entry ptc_kernel_contract
// CHECK: cp.async.cg.shared.global
// CHECK: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: cvt.rna.tf32.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// CHECK: st.global{{.*}}v4.b32

// CHECK: .visible .entry ptc_kernel_convolution
// CHECK: ld.shared.b32
// CHECK: cvt.rna.tf32.f32
// CHECK: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32

// CHECK: .visible .entry ptc_kernel_contract
// CHECK: ld.shared.b64
// CHECK: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64

// Where both depths are side by side, the copy engine rounds floats on their way to wgmma.
// SM90: .visible .entry ptc_kernel_contract
// SM90: cp.async.bulk.tensor.2d
// SM90: wgmma.mma_async.sync.aligned.m64n{{[0-9]+}}k8.f32.tf32.tf32 {{.*}}, p, 1, 1;
// SM90: st.global{{.*}}v4.b32
// SM90: .visible .entry ptc_kernel_convolution
// SM90: ld.shared.b32
// SM90: cvt.rna.tf32.f32
// SM90: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32
// SM90: .visible .entry ptc_kernel_contract
// SM90: ld.shared.b64
// SM90: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64

// IEEE-NOT: tf32
// IEEE: fma.rn.f32
// IEEE: mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
// IEEE-NOT: tf32

// EXPLAIN: product by wgmma and the copy engine in tf32, tiles of {{[0-9]+}}x{{[0-9]+}}x32
// EXPLAIN: product by mma.sync in tf32
// EXPLAIN: product by mma.sync, tiles of

// CPU: ptc: error: {{.*}}tf32 is a type of GPUs' tensor cores: --fp32-precision tf32 needs --target cuda
module {
  func.func @forward(%x: tensor<512x256xf32> {ptc.input = "x"}, %w: tensor<512x256xf32> {ptc.input = "w"},
                     %p: tensor<4x64x32x32xf32> {ptc.input = "p"}, %q: tensor<96x64x3x3xf32> {ptc.input = "q"},
                     %u: tensor<256x512xf64> {ptc.input = "u"}, %v: tensor<512x256xf64> {ptc.input = "v"})
      -> (tensor<512x512xf32> {ptc.output = "s"}, tensor<4x96x30x30xf32> {ptc.output = "t"},
          tensor<256x256xf64> {ptc.output = "y"}) {
    %s = aten.linear.default %x, %w : (tensor<512x256xf32>, tensor<512x256xf32>) -> tensor<512x512xf32>
    %t = aten.conv2d.default %p, %q : (tensor<4x64x32x32xf32>, tensor<96x64x3x3xf32>) -> tensor<4x96x30x30xf32>
    %y = aten.mm.default %u, %v : (tensor<256x512xf64>, tensor<512x256xf64>) -> tensor<256x256xf64>
    return %s, %t, %y : tensor<512x512xf32>, tensor<4x96x30x30xf32>, tensor<256x256xf64>
  }
}
