// A GPU has no libm: functions of doubles, special functions and the sine of large angles come from the library that ptc
// carries. What is long stands once and is called; nothing that is not called is there, and nothing is left open.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx && FileCheck %s --check-prefix=ALL < %t.ptx
// Kernels are compiled one by one, on all cores, and are found in the cache: the text is the same.
// RUN: rm -rf %t.cache && ptc compile %s -o %t.1.ptx --target cuda --emit ptx --cache %t.cache && cmp %t.ptx %t.1.ptx
// RUN: ptc compile %s -o %t.2.ptx --target cuda --emit ptx --cache %t.cache --time 2>&1 | FileCheck %s --check-prefix=CACHE
// RUN: cmp %t.ptx %t.2.ptx

// CACHE: kernels for sm_{{.*}} 2 functions, 2 of them cached

// ALL-NOT: .extern
// ALL-NOT: lgamma
// ALL-NOT: .visible .func

// CHECK: .func (.param .b64 func_retval0) ptc_kernel_map_[[FIRST:[0-9a-f]+]]__Z3sind
// CHECK-NOT: .func {{.*}}_Z3sind
// CHECK: .visible .entry ptc_kernel_map_[[FIRST]](
// CHECK: call.uni {{.*}} ptc_kernel_map_[[FIRST]]__Z3sind
// CHECK: fma.rn.f64
// CHECK: .visible .entry ptc_kernel_map_[[SECOND:[0-9a-f]+]](
// CHECK: call.uni {{.*}} ptc_kernel_map_[[SECOND]]__Z3sinf
// CHECK: call.uni {{.*}} ptc_kernel_map_[[SECOND]]_j0
module {
  func.func @forward(%x: tensor<64xf64> {ptc.input = "x"}, %y: tensor<32xf32> {ptc.input = "y"})
      -> (tensor<64xf64> {ptc.output = "sin"}, tensor<64xf64> {ptc.output = "exp"}, tensor<32xf32> {ptc.output = "sine"},
          tensor<32xf32> {ptc.output = "bessel"}) {
    %sin = aten.sin.default %x : (tensor<64xf64>) -> tensor<64xf64>
    %exp = aten.exp.default %x : (tensor<64xf64>) -> tensor<64xf64>
    %sine = aten.sin.default %y : (tensor<32xf32>) -> tensor<32xf32>
    %bessel = aten.special_bessel_j0.default %y : (tensor<32xf32>) -> tensor<32xf32>
    return %sin, %exp, %sine, %bessel : tensor<64xf64>, tensor<64xf64>, tensor<32xf32>, tensor<32xf32>
  }
}
