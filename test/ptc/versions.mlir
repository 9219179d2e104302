// A call whose sizes break a condition of @forward is answered by a function that is more general, if there is one. It is no
// entry of its own, and what it takes and answers is what @forward does.
// RUN: split-file %s %t
// RUN: printf '\66\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}01234567' > %t/two.safetensors
// RUN: printf '\67\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}0123456789abcdef' > %t/four.safetensors
// RUN: printf '\67\0\0\0\0\0\0\0{"x":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}}0123456789ab' > %t/three.safetensors
// RUN: ptc compile %t/model.mlir -o %t/loop.mlir --emit loop
// RUN: ptc compile %t/loop.mlir -o %t/model.so --march x86-64-v3,x86-64-v4
// RUN: ptc info %t/model.so | FileCheck %s --check-prefix=INFO
// RUN: ptc explain %t/model.mlir | FileCheck %s --check-prefix=EXPLAIN
// RUN: ptc run %t/model.so --inputs %t/four.safetensors --outputs %t/four && ptc run %t/model.so --inputs %t/two.safetensors --outputs %t/two
// RUN: tail -c 4 %t/four | od -An -tf4 | FileCheck %s --check-prefix=FOUR
// RUN: tail -c 4 %t/two | od -An -tf4 | FileCheck %s --check-prefix=TWO
// RUN: ptc run --reference %t/model.mlir --inputs %t/two.safetensors --outputs %t/reference
// RUN: tail -c 4 %t/reference | od -An -tf4 | FileCheck %s --check-prefix=TWO
// RUN: not ptc run %t/model.so --inputs %t/three.safetensors --outputs %t/no 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not ptc run --reference %t/model.mlir --inputs %t/three.safetensors --outputs %t/no 2>&1 | FileCheck %s --check-prefix=REFERENCE
// RUN: not ptc run %t/model.so --entry wide --inputs %t/two.safetensors --outputs %t/no 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: sed '/@wide/s/"x"/"z"/' %t/model.mlir > %t/other.mlir
// RUN: not ptc compile %t/other.mlir -o %t/no.so 2>&1 | FileCheck %s --check-prefix=OTHER

// INFO: entry forward
// INFO-NEXT: inputs x: float32[n]
// INFO-NEXT: outputs y: float32[1]
// INFO-NEXT: size n from 0 on
// INFO-NEXT: guard n is even
// INFO-NEXT: kernels 1,
// INFO-NEXT: versions a second one, for calls that break n is 4; kernels: 1
// INFO-NOT: entry
// EXPLAIN: guard: n is even
// EXPLAIN-NEXT: versions: the library holds a second version, for calls that break n is 4:
// FOUR: 4
// TWO: 2
// REFUSED: the inputs' sizes break a condition that the model was compiled for: n is even, with n = 3
// REFERENCE: the inputs' sizes break a condition of the model: n is even
// ENTRY: has no entry 'wide' (its entries: forward)
// OTHER: @wide has other inputs or outputs than @forward, whose calls it is to answer

//--- model.mlir
#n = affine_map<()[s0] -> (s0)>
module attributes {ptc.symbols = [{max = -1 : i64, min = 0 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<?xf32, #n> {ptc.input = "x"}) -> (tensor<1xf32> {ptc.output = "y"})
      attributes {ptc.guards = [{relation = "eq", text = "n is 4", value = affine_map<()[s0] -> (s0 - 4)>}]} {
    %y = aten.full.default {size = array<i64: 1>, fill_value = 4.0 : f64, dtype = f32} : () -> tensor<1xf32>
    return %y : tensor<1xf32>
  }
  func.func @wide(%x: tensor<?xf32, #n> {ptc.input = "x"}) -> (tensor<1xf32> {ptc.output = "y"})
      attributes {ptc.general_of = "forward", ptc.guards = [{relation = "eq", text = "n is even", value = affine_map<()[s0] -> (s0 mod 2)>}]} {
    %y = aten.full.default {size = array<i64: 1>, fill_value = 2.0 : f64, dtype = f32} : () -> tensor<1xf32>
    return %y : tensor<1xf32>
  }
}
