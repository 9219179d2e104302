// A loop that data end has no derivative: nobody knows how much it would have to keep.
// RUN: not ptc-opt %s --build-gradients 2>&1 | FileCheck %s

func.func private @goes_on(%h: tensor<3xf32>) -> tensor<i1> {
  %sum = prims.reduce %h {dims = array<i64: 0>, kind = "sum"} : (tensor<3xf32>) -> tensor<f32>
  %most = prims.full {sizes = array<i64>, value = 9.0 : f32} : () -> tensor<f32>
  %0 = prims.lt %sum, %most : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func private @step(%h: tensor<3xf32> {ptc.carried = "0"}) -> (tensor<3xf32> {ptc.carries = "0"}) {
  %new = prims.add %h, %h : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %new : tensor<3xf32>
}
func.func @forward(%x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  // CHECK: error: a derivative through a loop is not supported where sizes do not say how many steps it takes
  %0 = control.while @goes_on, @step(%x) : (tensor<3xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
