// A single bf16 is chosen in bits: it did not link.
// RUN: ptc compile %s --march x86-64-v3 -o %t.so
func.func @forward(%i: tensor<2xi64> {ptc.input = "i"}, %v: tensor<2xbf16> {ptc.input = "v"})
    -> (tensor<2x3xbf16> {ptc.output = "z"}) {
  %1 = aten.select.int %v {dim = 0 : i64, index = 0 : i64} : (tensor<2xbf16>) -> tensor<bf16>
  %2 = aten.select.int %v {dim = 0 : i64, index = 1 : i64} : (tensor<2xbf16>) -> tensor<bf16>
  %3 = aten.arange.default {end = 3 : i64, dtype = i64} : () -> tensor<3xi64>
  %4 = aten.unsqueeze.default %i {dim = 1 : i64} : (tensor<2xi64>) -> tensor<2x1xi64>
  %5 = aten.eq.Tensor %4, %3 : (tensor<2x1xi64>, tensor<3xi64>) -> tensor<2x3xi1>
  %6 = aten.where.self %5, %1, %2 : (tensor<2x3xi1>, tensor<bf16>, tensor<bf16>) -> tensor<2x3xbf16>
  return %6 : tensor<2x3xbf16>
}
