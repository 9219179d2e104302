// Which half of a row a thread's neighbours lie in, the first one says for all of them, as the halves begin at multiples
// of their number: both halves are read 16 bytes at a time.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx

// RUN: ptc explain %s --target cuda --ptxas none | FileCheck %s --check-prefix=GRID

// GRID: flat map
// GRID: grid of 4096 blocks of 256 threads
// CHECK: .visible .entry
// CHECK-NOT: ld.global{{(.nc)?}}.b16
// CHECK: st.global.v4.b32
module {
  func.func @forward(%x: tensor<4x32x1024x64xf16> {ptc.input = "x"}) -> (tensor<4x32x1024x64xf16> {ptc.output = "y"}) {
    %a = aten.slice.Tensor %x {dim = 3 : i64, start = 32 : i64, end = 64 : i64, step = 1 : i64} : (tensor<4x32x1024x64xf16>) -> tensor<4x32x1024x32xf16>
    %b = aten.slice.Tensor %x {dim = 3 : i64, start = 0 : i64, end = 32 : i64, step = 1 : i64} : (tensor<4x32x1024x64xf16>) -> tensor<4x32x1024x32xf16>
    %n = aten.neg.default %a : (tensor<4x32x1024x32xf16>) -> tensor<4x32x1024x32xf16>
    %c = aten.cat.default %n, %b {dim = 3 : i64} : (tensor<4x32x1024x32xf16>, tensor<4x32x1024x32xf16>) -> tensor<4x32x1024x64xf16>
    %y = aten.relu.default %c : (tensor<4x32x1024x64xf16>) -> tensor<4x32x1024x64xf16>
    return %y : tensor<4x32x1024x64xf16>
  }
}
