// RUN: ptc-opt %s --split-input-file --verify-diagnostics

func.func @shapes(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error @+2 {{prims.add: operands differ in shape}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = prims.add %a, %b : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @elements(%a: tensor<2xi64>) {
  // expected-error @+1 {{operand #0 must be tensor of floating-point or complex numbers}}
  %0 = prims.exp %a : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @count(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{has another number of elements}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = prims.reshape %a {sizes = array<i64: 7>} : (tensor<2x3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @permutation(%a: tensor<2x3xf32>) {
  // expected-error @+2 {{permutation names dimension 0 twice}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = prims.transpose %a {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @rows(%x: tensor<2x5x8xbf16>, %l: tensor<2x5xf32>, %d: tensor<2x5xbf16>) {
  // expected-error @+2 {{delta is 'tensor<2x5xbf16>', not 'tensor<2x5xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = prims.attention_gradient %x, %x, %x, %x, %l, %d {causal = false, scale = 1.0} : (tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5xf32>, tensor<2x5xbf16>) -> (tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x8xbf16>)
  return
}

// -----

func.func @gradient(%x: tensor<2x5x8xf32>, %g: tensor<2x4x8xf32>, %l: tensor<2x5xf32>) {
  // expected-error @+2 {{grad is 'tensor<2x4x8xf32>', not 'tensor<2x5x8xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:3 = prims.attention_gradient %x, %x, %x, %g, %l, %l {causal = false, scale = 1.0} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x4x8xf32>, tensor<2x5xf32>, tensor<2x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>)
  return
}
