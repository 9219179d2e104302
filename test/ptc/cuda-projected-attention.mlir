// Who reads attention with queries before heads finds it stored so: the copy engine brings the projection's rows, each
// of all heads' features, and nothing is transposed by a kernel of its own.
// RUN: ptc compile %s -o %t.mlir --target cuda --emit loop && FileCheck %s < %t.mlir
// RUN: ptc compile %s -o %t.mlir --emit loop && FileCheck %s --check-prefix=CPU < %t.mlir

// CHECK: #[[ROWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3 floordiv 64, d3 mod 64)>
// CHECK: loop.attention
// CHECK: queries_first
// CHECK-SAME: -> tensor<2x197x12x64xf16>
// CHECK: loop.contract
// CHECK-NOT: loop.kernel

// CPU: loop.attention
// CPU-NOT: queries_first
module {
  func.func @forward(%q: tensor<2x12x197x64xf16> {ptc.input = "q"}, %k: tensor<2x12x197x64xf16> {ptc.input = "k"},
                     %v: tensor<2x12x197x64xf16> {ptc.input = "v"}, %w: tensor<768x768xf16> {ptc.input = "w"})
      -> (tensor<2x197x768xf16> {ptc.output = "y"}) {
    %s = aten.scaled_dot_product_attention.default %q, %k, %v : (tensor<2x12x197x64xf16>, tensor<2x12x197x64xf16>, tensor<2x12x197x64xf16>) -> tensor<2x12x197x64xf16>
    %t = prims.transpose %s {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x12x197x64xf16>) -> tensor<2x197x12x64xf16>
    %r = prims.reshape %t {sizes = array<i64: 2, 197, 768>} : (tensor<2x197x12x64xf16>) -> tensor<2x197x768xf16>
    %y = aten.linear.default %r, %w : (tensor<2x197x768xf16>, tensor<768x768xf16>) -> tensor<2x197x768xf16>
    return %y : tensor<2x197x768xf16>
  }
}
