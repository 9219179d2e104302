// A thread of a GPU runs an algorithm on a matrix, by the code that the CPU's runtime has.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx && FileCheck %s < %t.ptx

// CHECK-NOT: .extern
// CHECK-LABEL: .visible .entry ptc_kernel_matrix_{{[0-9a-f]+}}(
// CHECK: .maxntid 32
// CHECK: call.uni {{.*}}ptc_matrix_solve_lower_f32
// CHECK-LABEL: .func ptc_kernel_matrix_{{[0-9a-f]+}}_ptc_matrix_solve_lower_f32(
// CHECK: div.rn.f32
// A factorization of nothing, of which one result is unused: neither has memory.
module {
  func.func @forward(%a: tensor<100x4x4xf32> {ptc.input = "a"}, %b: tensor<100x4x2xf32> {ptc.input = "b"},
                     %c: tensor<5x0xf32> {ptc.input = "c"})
      -> (tensor<100x4x2xf32> {ptc.output = "x"}, tensor<5x0xf32> {ptc.output = "q"}) {
    %q, %r = aten.linalg_qr.default %c {mode = "reduced"} : (tensor<5x0xf32>) -> (tensor<5x0xf32>, tensor<0x0xf32>)
    %x = aten.linalg_solve_triangular.default %a, %b {upper = false}
      : (tensor<100x4x4xf32>, tensor<100x4x2xf32>) -> tensor<100x4x2xf32>
    return %x, %q : tensor<100x4x2xf32>, tensor<5x0xf32>
  }
}
