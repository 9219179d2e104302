// Many rows of a few vectors for each thread of a warp are a warp's each: no barrier, each element is read once. Few rows
// are a block's each.
// RUN: ptc compile %s -o %t.ptx --target cuda --gpu-arch sm_90a --emit ptx && FileCheck %s < %t.ptx
// RUN: sed 's/4098x/98x/g' %s > %t.mlir && ptc explain %t.mlir --target cuda --ptxas none | FileCheck %s --check-prefix=FEW
// RUN: ptc explain %s --target cuda --ptxas none | FileCheck %s --check-prefix=MANY

// CHECK: .maxntid 128
// CHECK-NOT: bar{{(rier)?}}.sync
// CHECK-COUNT-3: ld.global.v4.b32
// CHECK-NOT: {{ld.global|bar(rier)?.sync}}
// CHECK: shfl.sync
// CHECK-NOT: {{ld.global|bar(rier)?.sync}}
// CHECK-COUNT-3: st.global.v4.b32

// MANY: reduction of rows, a warp a row
// MANY: 1025 blocks of 128 threads
// FEW: reduction of rows, a block a row
// FEW: 98 blocks of 96 threads
module {
  func.func @forward(%x: tensor<4098x768xf16> {ptc.input = "x"}) -> (tensor<4098x768xf16> {ptc.output = "y"}) {
    %y = aten.layer_norm.default %x {normalized_shape = array<i64: 768>, eps = 1.0e-05 : f64} : (tensor<4098x768xf16>) -> tensor<4098x768xf16>
    return %y : tensor<4098x768xf16>
  }
}
