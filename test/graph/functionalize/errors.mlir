// RUN: ptc-opt %s --functionalize --split-input-file --verify-diagnostics

func.func @resize(%x: tensor<4xf32>) {
  // expected-error @+1 {{cannot compile aten.resize_.default: it changes the size of a tensor in place}}
  %r = aten.resize_.default %x {size = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @no_functional_operator(%x: tensor<4x4x4xf32>) {
  // expected-error @+1 {{cannot compile aten.fill_diagonal_.default: it writes to its argument}}
  %r = aten.fill_diagonal_.default %x {fill_value = 0.0 : f64} : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  return
}

// -----

func.func @inside_control_flow(%x: tensor<4xf32>) {
  %r = aten.higher_order.cond %x ({
    %e = aten.exp.default %x : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @+1 {{cannot compile aten.relu_.default: it writes to a tensor inside control flow}}
    %a = aten.relu_.default %e : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %a : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dimension_out_of_range(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{aten.select.int: 'dim' is 2, but the tensor has 2 dimensions}}
  %s = aten.select.int %x {dim = 2 : i64, index = 0 : i64} : (tensor<4x3xf32>) -> tensor<4xf32>
  %n = aten.neg_.default %s : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @permutation_of_too_few(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{aten.permute.default: 'dims' must name all 2 dimensions}}
  %s = aten.permute.default %x {dims = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %n = aten.neg_.default %s : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @part_of_another_rank(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{aten.chunk.default: cannot return 'tensor<f32>'}}
  %s:2 = aten.chunk.default %x {chunks = 2 : i64} : (tensor<4x3xf32>) -> (tensor<2x3xf32>, tensor<f32>)
  %n = aten.neg_.default %s#1 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @unknown_order(%x: tensor<4x3xf32>) -> tensor<12x12xf32> {
  %t = aten.t.default %x : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %k = aten.kron.default %t, %x : (tensor<3x4xf32>, tensor<4x3xf32>) -> tensor<12x12xf32>
  %f = aten.flatten.using_ints %k : (tensor<12x12xf32>) -> tensor<144xf32>
  // expected-error @+1 {{cannot compile aten.neg_.default: to write to what aten.flatten.using_ints may have copied or not, by strides that are not known, is not supported}}
  %n = aten.neg_.default %f : (tensor<144xf32>) -> tensor<144xf32>
  return %k : tensor<12x12xf32>
}
