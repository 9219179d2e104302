// Attention that keeps its rows' log-sum-exp and its derivative have kernels for every type: a block a query, which stores the
// log-sum-exp, then a block a query and a block a key, whose threads share the weights that they compute again.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx
// RUN: ptc explain %s --target cuda | FileCheck %s --check-prefix=WHY

// CHECK: .visible .entry [[NAME:[A-Za-z0-9_]*gradient[A-Za-z0-9_]*]](
// CHECK: .shared
// CHECK: bar.sync
// CHECK: .visible .entry [[NAME]]_part2(
// CHECK: bar.sync
// WHY-DAG: attention, a block a query
// WHY-DAG: derivative of attention, a block a query and a block a key
module {
  func.func @forward(%q: tensor<1x4x5x8xf16> {ptc.input = "q"}, %k: tensor<1x2x7x8xf16> {ptc.input = "k"},
                     %grad: tensor<1x4x5x8xf16> {ptc.input = "grad"}, %delta: tensor<1x4x5xf32> {ptc.input = "delta"})
      -> (tensor<1x4x5x8xf16> {ptc.output = "dq"}, tensor<1x2x7x8xf16> {ptc.output = "dk"}, tensor<1x2x7x8xf16> {ptc.output = "dv"}) {
    %y, %rows = prims.attention %q, %k, %k {causal = true, scale = 5.000000e-01 : f64, with_logsumexp} : (tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>) -> (tensor<1x4x5x8xf16>, tensor<1x4x5xf32>)
    %dq, %dk, %dv = prims.attention_gradient %q, %k, %k, %grad, %rows, %delta {causal = true, scale = 5.000000e-01 : f64} : (tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>, tensor<1x4x5x8xf16>, tensor<1x4x5xf32>, tensor<1x4x5xf32>) -> (tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>)
    return %dq, %dk, %dv : tensor<1x4x5x8xf16>, tensor<1x2x7x8xf16>, tensor<1x2x7x8xf16>
  }
}
