// On a GPU a map has a thread for each element, a softmax a block for each row, whose threads meet at barriers, and a
// product a block for each tile of results. A size that is a symbol is a parameter.
// RUN: ptc compile %s -o %t.ptx --target cuda --emit ptx --gpu-arch sm_80 && FileCheck %s < %t.ptx
// RUN: ptc compile %s -o %t90.ptx --target cuda --emit ptx --gpu-arch sm_90 && FileCheck %s --check-prefix=SM90 < %t90.ptx
// RUN: ptc compile %s -o %t.so --target cuda && not ptc bench %t.so 2>&1 | FileCheck %s --check-prefix=DRIVER
// RUN: not ptc compile %s -o %t.s --emit ptx 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not ptc compile %s -o %t.so --target cuda --gpu-arch sm_81 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not ptc compile %s -o %t.so --target cuda --mode max-autotune 2>&1 | FileCheck %s --check-prefix=TUNING

// SM90: .target sm_90
// CPU: ptc: error: command line: --emit: ptx is the assembly of --target cuda
// ARCH: ptc: error: 'sm_81' is no GPU architecture that ptc compiles for; there are sm_80, sm_86
// TUNING: ptc: error: tuning is not available with --target cuda in this version
// DRIVER: libcuda.so.1

// CHECK: .target sm_80
// CHECK-LABEL: .visible .entry ptc_kernel_contract_{{[0-9a-f]+}}(
// CHECK: .maxntid 64
// CHECK: fma.rn.f32
// CHECK-LABEL: .visible .entry ptc_kernel_reduce_{{[0-9a-f]+}}(
// CHECK: .maxntid 256
// CHECK: bar{{.*}}.sync
// CHECK: bar{{.*}}.sync
// CHECK-LABEL: .visible .entry ptc_kernel_map_{{[0-9a-f]+}}(
// CHECK-NOT: bar{{.*}}.sync
// CHECK: setp
// CHECK: st.global
#x = affine_map<()[s0] -> (s0, 6)>
#t = affine_map<()[s0] -> (6, s0)>
#y = affine_map<()[s0] -> (s0, s0)>
module attributes {ptc.symbols = [{max = 100 : i64, min = 2 : i64, name = "n"}]} {
  func.func @forward(%x: tensor<?x6xf32, #x> {ptc.input = "x"})
      -> (tensor<?x?xf32, #y> {ptc.output = "y"}, tensor<?x6xf32, #x> {ptc.output = "z"}) {
    %t = aten.transpose.int %x {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<?x6xf32, #x>) -> tensor<6x?xf32, #t>
    %p = aten.matmul.default %x, %t : (tensor<?x6xf32, #x>, tensor<6x?xf32, #t>) -> tensor<?x?xf32, #y>
    %y = aten.softmax.int %p {dim = -1 : i64} : (tensor<?x?xf32, #y>) -> tensor<?x?xf32, #y>
    %z = aten.relu.default %x : (tensor<?x6xf32, #x>) -> tensor<?x6xf32, #x>
    return %y, %z : tensor<?x?xf32, #y>, tensor<?x6xf32, #x>
  }
}
