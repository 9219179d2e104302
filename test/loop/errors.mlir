// RUN: ptc-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %0 = loop.map {
  ^bb0(%i: index):
    // expected-error @+1 {{index map maps 1 indices to 1 places, expected 1 and 2}}
    %1 = loop.read %x[affine_map<(d0) -> (d0)>](%i) : tensor<4x8xf32> -> f32
    loop.yield %1 : f32
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @element(%x: tensor<4xf32>) -> tensor<4xi32> {
  // expected-error @+1 {{yields 'f32' for an element of 'tensor<4xi32>'}}
  %0 = loop.map {
  ^bb0(%i: index):
    %1 = loop.read %x[affine_map<(d0) -> (d0)>](%i) : tensor<4xf32> -> f32
    loop.yield %1 : f32
  } : tensor<4xi32>
  return %0 : tensor<4xi32>
}

// -----

func.func @kind(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @+1 {{does not know how to combine by 'mean'}}
  %0 = loop.reduce ["mean"] over array<i64: 4> {
  ^bb0(%i: index):
    %1 = loop.read %x[affine_map<(d0) -> (d0)>](%i) : tensor<4xf32> -> f32
    loop.yield %1 : f32
  } : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @outer(%x: tensor<4xf32>) -> tensor<8xf32> {
  %0 = loop.kernel "k" outer 1 (%x) {
  ^bb0(%a: tensor<4xf32>):
    %1 = loop.map {
    ^bb0(%i: index):
      %2 = loop.read %a[affine_map<(d0) -> (d0)>](%i) : tensor<4xf32> -> f32
      loop.yield %2 : f32
    } : tensor<4xf32>
    // expected-error @+1 {{does not iterate over its kernel's outer dimensions}}
    %3 = loop.map {
    ^bb0(%i: index):
      %4 = loop.index [affine_map<(d0) -> (d0 floordiv 2)>](%i)
      %2 = loop.read %1[affine_map<(d0) -> (d0)>](%4) : tensor<4xf32> -> f32
      loop.yield %2 : f32
    } : tensor<8xf32>
    loop.yield %3 : tensor<8xf32>
  } : (tensor<4xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @scale(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %s: tensor<8xf32>) -> tensor<4x16xf32> {
  // expected-error @+1 {{has a scale, but rhs is not bf16x3}}
  %0 = loop.contract scale %s[affine_map<(d0, d1, d2) -> (d2)>] : tensor<8xf32> %a[affine_map<(d0, d1, d2) -> (d0, d2)>],
      %b[affine_map<(d0, d1, d2) -> (d2, d1)>] batch 0 m 1 n 1 k array<i64: 8> {
  ^bb0(%m: index, %n: index, %acc: f32):
    loop.yield %acc : f32
  } : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %0 : tensor<4x16xf32>
}

// -----

func.func @rows(%q: tensor<2x5x6xf32>, %r: tensor<2x5xf32>, %l: tensor<2x5x6xf32>) {
  // expected-error @+1 {{has a delta that is not a number for each row}}
  %dq, %dk, %dv = loop.attention_gradient %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>], %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>],
      %q[affine_map<(d0, d1, d2) -> (d0, d1, d2)>], %r, %l {scale = 1.0, causal = false, group = 1 : i64}
    : tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5xf32>, tensor<2x5x6xf32>
      -> tensor<1x2x5x6xf32>, tensor<2x5x6xf32>, tensor<2x5x6xf32>
  return
}
