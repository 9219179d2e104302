// A scatter whose order is of no matter, of a type that no instruction combines: compare and swap, until nobody else has
// changed what was read. The first read is one of memory that others change meanwhile.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx --gpu-arch sm_80 && FileCheck %s < %t.ptx

// CHECK: ld.relaxed.gpu.global.b32 %[[SEEN:r[0-9]+]]
// CHECK: atom.relaxed.gpu.global.cas.b32
func.func @forward(%x: tensor<100000xf32> {ptc.input = "x"}, %u: tensor<5000xf32> {ptc.input = "u"},
                   %i: tensor<5000xi64> {ptc.input = "i"}) -> (tensor<100000xf32> {ptc.output = "y"}) {
  %y = prims.scatter %x, %u, %i {combine = "min", dims = array<i64: 0>} : (tensor<100000xf32>, tensor<5000xf32>, tensor<5000xi64>) -> tensor<100000xf32>
  return %y : tensor<100000xf32>
}
