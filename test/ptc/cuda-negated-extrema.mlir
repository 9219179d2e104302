// ptxas 12.8 and 13.0 forget that an operand of min(min(a, -b), -c) is negated, of integers of 32 and 16 bits on sm_90:
// it sees ~b + 1 there. Other negations, and minima of floats, stay as they are.
// RUN: ptc compile %s --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s
// RUN: sed 's/i32/i16/g' %s > %t.mlir && ptc compile %t.mlir --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s --check-prefix=SHORT
// RUN: sed 's/i32/f32/g' %s > %t.mlir && ptc compile %t.mlir --target cuda --gpu-arch sm_90a --emit ptx -o - | FileCheck %s --check-prefix=FLOAT

// CHECK-NOT: neg.s32
// CHECK: not.b32
// CHECK: min.s32
// CHECK-NOT: neg.s32
// SHORT-NOT: neg.s16
// SHORT: not.b16
// SHORT: min.s16
// SHORT-NOT: neg.s16
// FLOAT-NOT: not.b
func.func @forward(%x: tensor<3x8x3xi32> {ptc.input = "x"}) -> (tensor<3x3xi32> {ptc.output = "y"}) {
  %0 = prims.neg %x : (tensor<3x8x3xi32>) -> tensor<3x8x3xi32>
  %1 = prims.reduce %0 {dims = array<i64: 1>, kind = "min"} : (tensor<3x8x3xi32>) -> tensor<3x3xi32>
  return %1 : tensor<3x3xi32>
}
