// RUN: ptc-opt %s -verify-diagnostics -to-loop

func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error @+1 {{has no lowering to loops (complex numbers, for one, are not supported)}}
  %0 = prims.exp %x : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}
