// Kernels for sm_90 and later let those behind them be started, and wait for those before them, before they read anything.
// Until then a kernel before may write what they read, so that none of it is constant for them (ld.global.nc).
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_80 --emit ptx && FileCheck %s --check-prefix=OLD < %t.ptx

// CHECK: .visible .entry
// CHECK-NOT: ld.global
// CHECK: griddepcontrol.launch_dependents;
// CHECK-NEXT: griddepcontrol.wait;
// CHECK: ld.global.v4.b32
// CHECK: st.global.v4.b32

// OLD-NOT: griddepcontrol
// OLD: ld.global.nc.v4.b32
module {
  func.func @forward(%x: tensor<5x320xf32> {ptc.input = "x"}) -> (tensor<5x320xf32> {ptc.output = "y"}) {
    %y = aten.relu.default %x : (tensor<5x320xf32>) -> tensor<5x320xf32>
    return %y : tensor<5x320xf32>
  }
}
