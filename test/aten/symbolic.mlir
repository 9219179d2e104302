// Integers and lists of integers may be expressions over the module's symbols.
// RUN: ptc-opt %s | FileCheck %s

module attributes {ptc.symbols = [{name = "s0", min = 2 : i64, max = 64 : i64}]} {
  // CHECK-LABEL: func.func @forward
  func.func @forward(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>> {
    // CHECK: aten.slice.Tensor %arg0 {end = #{{.*}}} : (tensor<?xf32, #{{.*}}>)
    %s = aten.slice.Tensor %x {end = affine_map<()[s0] -> (s0 - 1)>}
        : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<?xf32, affine_map<()[s0] -> (s0 - 1)>>
    // CHECK: aten.full.default {fill_value = 0.000000e+00 : f64, size = #{{.*}}} : () -> tensor<?x2xf32, #{{.*}}>
    %f = aten.full.default {size = affine_map<()[s0] -> (s0, 2)>, fill_value = 0.0 : f64}
        : () -> tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
    return %f : tensor<?x2xf32, affine_map<()[s0] -> (s0, 2)>>
  }
}
