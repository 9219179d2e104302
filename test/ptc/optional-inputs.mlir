// An input with a default may be left out of a call; such inputs are the last, of static sizes.
// RUN: split-file %s %t
// RUN: printf '\67\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}0123456789abcdef' > %t/w.safetensors
// RUN: printf '\67\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}fedcba9876543210' > %t/x.safetensors
// RUN: printf '\156\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"w":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}}fedcba98765432100123456789abcdef' > %t/xw.safetensors
// RUN: printf '\156\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"1":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}}fedcba9876543210fedcba9876543210' > %t/xx.safetensors
// RUN: ptc compile %t/add.mlir --weights %t/w.safetensors -o %t/loop.mlir --emit loop
// RUN: ptc compile %t/loop.mlir --weights %t/w.safetensors -o %t/add.so
// RUN: ptc run %t/add.so --inputs %t/x.safetensors --outputs %t/default
// RUN: ptc run %t/add.so --inputs %t/xw.safetensors --outputs %t/same && cmp %t/default %t/same
// RUN: ptc run %t/add.so --inputs %t/xx.safetensors --outputs %t/other && not cmp %t/default %t/other
// RUN: ptc run --reference %t/add.mlir --weights %t/w.safetensors --inputs %t/x.safetensors --outputs %t/reference && cmp %t/default %t/reference
// RUN: not ptc run %t/add.so --inputs %t/w.safetensors --outputs %t/none 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: ptc bench %t/add.so --repeat 1 && ptc bench %t/add.so --repeat 1 --inputs %t/xw.safetensors
// RUN: ptc explain %t/add.mlir --weights %t/w.safetensors | FileCheck %s --check-prefix=EXPLAIN
// RUN: not ptc compile %t/first.mlir --weights %t/w.safetensors -o %t/no.so 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not ptc compile %t/open.mlir --weights %t/w.safetensors -o %t/no.so 2>&1 | FileCheck %s --check-prefix=OPEN

// MISSING: input 'x' is missing
// EXPLAIN: inputs: x: float32[4]
// EXPLAIN-NEXT: w: float32[4], or as in the file
// FIRST: argument 0: 'ptc.default' before an input without one
// OPEN: argument 0: 'ptc.default' needs an input of static sizes

//--- add.mlir
func.func @forward(%x: tensor<4xf32> {ptc.input = "x"}, %w: tensor<4xf32> {ptc.input = "w", ptc.default = "w"})
    -> (tensor<4xf32> {ptc.output = "y"}) {
  %y = aten.maximum.default %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

//--- first.mlir
func.func @forward(%w: tensor<4xf32> {ptc.input = "w", ptc.default = "w"}, %x: tensor<4xf32> {ptc.input = "x"})
    -> (tensor<4xf32> {ptc.output = "y"}) {
  return %x : tensor<4xf32>
}

//--- open.mlir
module attributes {ptc.symbols = [{max = -1 : i64, min = 0 : i64, name = "n"}]} {
  func.func @forward(%w: tensor<?xf32, affine_map<()[s0] -> (s0)>> {ptc.input = "w", ptc.default = "w"})
      -> (tensor<?xf32, affine_map<()[s0] -> (s0)>> {ptc.output = "y"}) {
    return %w : tensor<?xf32, affine_map<()[s0] -> (s0)>>
  }
}
