// --opt 0: a kernel for each elementary operation; patterns and fusion leave one.
// RUN: ptc explain %s | FileCheck %s
// RUN: ptc explain %s --opt 0 | FileCheck %s --check-prefix=PLAIN
// RUN: not ptc explain %s --opt 2 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: kernels: 1
// PLAIN: kernels: 3
// NONE: --opt: {{.*}}2{{.*}}not in range
func.func @forward(%x: tensor<8x64xf32> {ptc.input = "x"}) -> (tensor<8x64xf32> {ptc.output = "y"}) {
  %a = aten.relu.default %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = aten.exp.default %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %y = aten.neg.default %b : (tensor<8x64xf32>) -> tensor<8x64xf32>
  return %y : tensor<8x64xf32>
}
