// Three sums lie in shared memory, of which a map of four points reads three: LLVM knows that memory of four is there, but
// nobody wrote the fourth.
// RUN: ptc compile %s --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s

// CHECK-NOT: ld.shared.v4
// CHECK: ld.shared.b32 {{.*}}_shared+8];
// CHECK-NOT: ld.shared
// CHECK: st.global.v4.b32
func.func @forward(%x: tensor<3x130xf32> {ptc.input = "x"}, %z: tensor<f32> {ptc.input = "z"}) -> (tensor<4xf32> {ptc.output = "y"}) {
  %0 = prims.reduce %x {dims = array<i64: 1>, kind = "sum"} : (tensor<3x130xf32>) -> tensor<3xf32>
  %1 = prims.pad %0, %z {high = array<i64: 1>, interior = array<i64: 0>, low = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
