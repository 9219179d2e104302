// Reductions with few results are cut into as many parts as a GPU has blocks for, where parts are long; others are not.
// RUN: ptc compile %s -o %t.mlir --target cuda --emit loop && FileCheck %s < %t.mlir
// RUN: ptc compile %s -o %t.cpu.mlir --emit loop && FileCheck %s --check-prefix=CPU < %t.cpu.mlir

// CHECK: loop.reduce ["sum"] over array<i64: 16, 16384>
// CHECK: tensor<1024xf32>
// CHECK: loop.reduce ["sum"] over array<i64: 256>
// CHECK: tensor<64x16384xf32>
// CHECK: loop.reduce ["sum"] over array<i64: 768>
// CHECK: tensor<128xf32>
// CHECK-NOT: loop.reduce

// CPU: loop.reduce ["sum"] over array<i64: 256, 16384>
// CPU: tensor<64xf32>
// CPU: loop.reduce ["sum"] over array<i64: 1024>
// CPU: tensor<16x16384xf32>
module {
  func.func @forward(%x: tensor<16384x16384xf32> {ptc.input = "x"}, %y: tensor<128x768xf32> {ptc.input = "y"})
      -> (tensor<f32> {ptc.output = "a"}, tensor<16384xf32> {ptc.output = "b"}, tensor<128xf32> {ptc.output = "c"}) {
    %a = aten.sum.default %x : (tensor<16384x16384xf32>) -> tensor<f32>
    %b = aten.sum.dim_IntList %x {dim = array<i64: 0>, keepdim = false} : (tensor<16384x16384xf32>) -> tensor<16384xf32>
    %c = aten.sum.dim_IntList %y {dim = array<i64: 1>, keepdim = false} : (tensor<128x768xf32>) -> tensor<128xf32>
    return %a, %b, %c : tensor<f32>, tensor<16384xf32>, tensor<128xf32>
  }
}
