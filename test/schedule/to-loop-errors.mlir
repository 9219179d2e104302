// RUN: ptc-opt %s -split-input-file -verify-diagnostics -ptc-to-loop

func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  // expected-error @+1 {{has no code for the CPU (complex numbers, for one, are not supported)}}
  %0 = prims.exp %x : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

func.func @scan(%x: tensor<4xi1>) -> tensor<4xi1> {
  // expected-error @+1 {{prims.scan by 'and' has no code for the CPU}}
  %0 = prims.scan %x {kind = "and", dim = 0 : i64} : (tensor<4xi1>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}
