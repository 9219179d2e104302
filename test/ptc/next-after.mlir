// The smallest number takes its sign in bits: a copysign of f16 with the sign of what was computed in double did not link.
// RUN: ptc compile %s -o %t.so && ptc bench %t.so --repeat 1 | FileCheck %s

// CHECK: median
func.func @forward(%arg0: tensor<1x1xf16> {ptc.input = "x0"}, %arg1: tensor<1x1xf16> {ptc.input = "x1"}) -> (tensor<1x1xf16> {ptc.output = "y0"}) {
  %0 = prims.special %arg1 {function = "log_ndtr"} : (tensor<1x1xf16>) -> tensor<1x1xf16>
  %1 = prims.next_after %arg0, %0 : (tensor<1x1xf16>, tensor<1x1xf16>) -> tensor<1x1xf16>
  return %1 : tensor<1x1xf16>
}
