// A size that no input has and nothing computes is an error also where kernels alone read it: they would take it for 0.
// RUN: not ptc compile %s -o %t.so 2>&1 | FileCheck %s
// CHECK: error: {{.*}}the size u0 does not follow from any input's shape or value
module attributes {ptc.symbols = [{max = 64 : i64, min = 0 : i64, name = "u0"}]} {
  func.func @forward(%x: tensor<i64> {ptc.input = "x"}) -> (tensor<i64> {ptc.output = "y"}) {
    %size = prims.size {size = affine_map<()[s0] -> (s0)>} : () -> tensor<i64>
    %sum = prims.add %x, %size : (tensor<i64>, tensor<i64>) -> tensor<i64>
    return %sum : tensor<i64>
  }
}
