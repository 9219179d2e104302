// RUN: ptc-opt %s --add-loss=loss=cross_entropy --split-input-file --verify-diagnostics

// expected-error @+2 {{the model has an input 'target', as --loss cross_entropy would add}}
// expected-note @+1 {{compute the loss in the model, and name it by --loss output:K}}
func.func @two_targets(%x: tensor<4x3xf32> {ptc.input = "target"}) -> (tensor<4x3xf32> {ptc.output = "y"}) {
  return %x : tensor<4x3xf32>
}

// -----

// expected-error @+2 {{output 0, i64[4, 3], has no floating elements, of which --loss cross_entropy is made}}
// expected-note @+1 {{its outputs are 0: 'y' i64[4, 3]}}
func.func @integers(%x: tensor<4x3xi64> {ptc.input = "x"}) -> (tensor<4x3xi64> {ptc.output = "y"}) {
  return %x : tensor<4x3xi64>
}

// -----

// expected-error @+2 {{output 0, f32[], has no dimension of classes, which --loss cross_entropy chooses from}}
// expected-note @+1 {{its outputs are 0: 'y' f32[], 1: 'z' f32[]}}
func.func @no_classes(%x: tensor<f32> {ptc.input = "x"}) -> (tensor<f32> {ptc.output = "y"}, tensor<f32> {ptc.output = "z"}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{the model has no output to compute --loss cross_entropy from}}
func.func @no_output(%x: tensor<4x3xf32> {ptc.input = "x"}) {
  return
}

// -----

#rows = affine_map<()[s0] -> (s0, 2)>
module attributes {ptc.symbols = [{name = "u", min = 0 : i64, max = -1 : i64}]} {
  func.func @size_of_data(%x: tensor<4x3xf32> {ptc.input = "x"}) -> (tensor<?x2xf32, #rows> {ptc.output = "y"}) {
    %n = aten.nonzero.default %x : (tensor<4x3xf32>) -> tensor<?x2xi64, #rows>
    // expected-error @+2 {{output 0, f32[u, 2], has a size that data decide, so that no call can bring its target}}
    // expected-note @+1 {{compute the loss in the model, and name it by --loss output:K}}
    %y = aten.to.dtype %n {dtype = f32} : (tensor<?x2xi64, #rows>) -> tensor<?x2xf32, #rows>
    return %y : tensor<?x2xf32, #rows>
  }
}
