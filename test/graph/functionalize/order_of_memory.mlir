// Whether flatten is a view follows from the order in which its operand lies in memory, which other operators have passed on.
// RUN: ptc-opt %s --functionalize | FileCheck %s

#x = affine_map<()[s0] -> (s0, 3)>
#t = affine_map<()[s0] -> (3, s0)>
#f = affine_map<()[s0] -> (s0 * 3)>
// Of one row it is a view, and who writes to it writes to what is returned, too.
// CHECK: ptc.guards = [{relation = "ne", text = "n != 1", value
module attributes {ptc.symbols = [{name = "n", min = 0 : i64, max = -1 : i64}]} {
  // CHECK-LABEL: func.func @symbolic
  func.func @symbolic(%x: tensor<?x3xf32, #x> {ptc.input = "x"}) -> tensor<3x?xf32, #t> {
    %t = aten.t.default %x : (tensor<?x3xf32, #x>) -> tensor<3x?xf32, #t>
    // CHECK: %[[E:.*]] = aten.exp.default
    %e = aten.exp.default %t : (tensor<3x?xf32, #t>) -> tensor<3x?xf32, #t>
    %f = aten.flatten.using_ints %e : (tensor<3x?xf32, #t>) -> tensor<?xf32, #f>
    %n = aten.neg_.default %f : (tensor<?xf32, #f>) -> tensor<?xf32, #f>
    // CHECK: return %[[E]]
    return %e : tensor<3x?xf32, #t>
  }

  // Nobody sees the source of the copy any more: no guard of its own.
  // CHECK-LABEL: func.func @unseen
  func.func @unseen(%x: tensor<3x?xf32, #t> {ptc.input = "x"}) -> tensor<?xf32, #f> {
    %e = aten.exp.default %x : (tensor<3x?xf32, #t>) -> tensor<3x?xf32, #t>
    %t = aten.t.default %e : (tensor<3x?xf32, #t>) -> tensor<?x3xf32, #x>
    %f = aten.flatten.using_ints %t : (tensor<?x3xf32, #x>) -> tensor<?xf32, #f>
    // CHECK: %[[N:.*]] = aten.neg.default
    %n = aten.neg_.default %f : (tensor<?xf32, #f>) -> tensor<?xf32, #f>
    // CHECK: return %[[N]]
    return %f : tensor<?xf32, #f>
  }

  // flip keeps the order, so that this is a copy; masked_fill does not, so that this is a view.
  // CHECK-LABEL: func.func @static
  func.func @static(%x: tensor<2x3xf32> {ptc.input = "x"}, %m: tensor<3x2xi1> {ptc.input = "m"}) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
    %t = aten.t.default %x : (tensor<2x3xf32>) -> tensor<3x2xf32>
    // CHECK: %[[P:.*]] = aten.flip.default
    %p = aten.flip.default %t {dims = array<i64: 0>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
    %f = aten.flatten.using_ints %p : (tensor<3x2xf32>) -> tensor<6xf32>
    %n = aten.neg_.default %f : (tensor<6xf32>) -> tensor<6xf32>
    %q = aten.masked_fill.Scalar %t, %m {value = 1.0 : f64} : (tensor<3x2xf32>, tensor<3x2xi1>) -> tensor<3x2xf32>
    %g = aten.flatten.using_ints %q : (tensor<3x2xf32>) -> tensor<6xf32>
    // CHECK: %[[N:.*]] = aten.neg.default
    // CHECK: %[[W:.*]] = aten.{{.*}} %[[N]]
    %k = aten.neg_.default %g : (tensor<6xf32>) -> tensor<6xf32>
    // CHECK: return %[[P]], %[[W]]
    return %p, %q : tensor<3x2xf32>, tensor<3x2xf32>
  }
}
