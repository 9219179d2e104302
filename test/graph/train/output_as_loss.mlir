// A model that computes its loss says which output it is; without a word it is the first.
// RUN: ptc-opt %s --add-loss=loss=output:1 | FileCheck %s --check-prefix=SECOND
// RUN: ptc-opt %s --add-loss | FileCheck %s --check-prefix=FIRST

// SECOND-LABEL: func.func @forward
// SECOND-SAME: (%arg0: tensor<f32> {ptc.input = "x"}) -> (tensor<f32> {ptc.output = "y"}, tensor<f32> {ptc.loss, ptc.output = "z"})
// FIRST-LABEL: func.func @forward
// FIRST-SAME: (%arg0: tensor<f32> {ptc.input = "x"}) -> (tensor<f32> {ptc.loss, ptc.output = "y"}, tensor<f32> {ptc.output = "z"})
func.func @forward(%x: tensor<f32> {ptc.input = "x"}) -> (tensor<f32> {ptc.output = "y"}, tensor<f32> {ptc.output = "z"}) {
  %y = aten.relu.default %x : (tensor<f32>) -> tensor<f32>
  return %y, %x : tensor<f32>, tensor<f32>
}
