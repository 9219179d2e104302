// RUN: ptc-opt %s --split-input-file --build-gradients --verify-diagnostics | FileCheck %s
// Cotangents become inputs and gradients outputs; what nobody asks for is not there.

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32> {ptc.input = "x"}, %[[W:.*]]: tensor<4x3xf32> {ptc.weight = "w"}, %[[B:.*]]: tensor<4xf32> {ptc.weight = "b"}, %[[G:.*]]: tensor<2x4xf32> {ptc.input = "cotangent.0"}
// CHECK-SAME: -> (tensor<2x4xf32> {ptc.output = "y"}, tensor<2x3xf32> {ptc.output = "grad.0"}, tensor<4x3xf32> {ptc.output = "gradient.w"})
// CHECK: %[[P:.*]] = prims.contract %[[X]], %[[W]]
// CHECK: %[[Y:.*]] = prims.add %[[P]]
// CHECK: prims.contract %[[G]], %[[W]]
// CHECK: prims.contract %[[G]], %[[X]]
// CHECK-NOT: prims.reduce
// CHECK: return %[[Y]]
func.func @forward(%x: tensor<2x3xf32> {ptc.input = "x"}, %w: tensor<4x3xf32> {ptc.weight = "w", ptc.trainable},
                   %b: tensor<4xf32> {ptc.weight = "b"}) -> (tensor<2x4xf32> {ptc.output = "y"}) {
  %p = prims.contract %x, %w {lhs_batch = array<i64>, rhs_batch = array<i64>, lhs_contract = array<i64: 1>, rhs_contract = array<i64: 1>} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %c = prims.broadcast_in_dim %b {sizes = array<i64: 2, 4>, dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<2x4xf32>
  %y = prims.add %p, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// An integer has no gradient, and an output that follows from integers alone no cotangent.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%{{.*}}: tensor<3xi64> {ptc.input = "i"}, %[[X:.*]]: tensor<3xf32> {ptc.input = "x"}, %[[G:.*]]: tensor<3xf32> {ptc.input = "cotangent.1"})
// CHECK-SAME: -> (tensor<3xf32> {ptc.output = "a"}, tensor<3xf32> {ptc.output = "b"}, tensor<3xf32> {ptc.output = "grad.1"})
// CHECK: %[[A:.*]] = prims.convert
// CHECK: %[[B:.*]] = prims.mul %[[A]], %[[X]]
// CHECK: %[[D:.*]] = prims.mul %[[G]], %[[A]]
// CHECK: return %[[A]], %[[B]], %[[D]]
func.func @forward(%i: tensor<3xi64> {ptc.input = "i"}, %x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "a"}, tensor<3xf32> {ptc.output = "b"}) {
  %a = prims.convert %i {dtype = f32} : (tensor<3xi64>) -> tensor<3xf32>
  %b = prims.mul %a, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

// A frozen input has neither, but counts.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: (%[[X:.*]]: tensor<3xf32> {ptc.input = "x"}, %[[Y:.*]]: tensor<3xf32> {ptc.input = "y"}, %[[G:.*]]: tensor<3xf32> {ptc.input = "cotangent.1"})
// CHECK-SAME: -> (tensor<3xf32> {ptc.output = "a"}, tensor<3xf32> {ptc.output = "b"}, tensor<3xf32> {ptc.output = "grad.1"})
func.func @forward(%x: tensor<3xf32> {ptc.input = "x", ptc.frozen}, %y: tensor<3xf32> {ptc.input = "y"})
    -> (tensor<3xf32> {ptc.output = "a"}, tensor<3xf32> {ptc.output = "b"}) {
  %a = prims.exp %x : (tensor<3xf32>) -> tensor<3xf32>
  %b = prims.mul %a, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %a, %b : tensor<3xf32>, tensor<3xf32>
}

// -----

// What an output's size is, data decide later: its cotangent has a size of its own until then.
// CHECK-DAG: #[[M:.*]] = affine_map<()[s0, s1] -> (s1)>
// CHECK-DAG: #[[REST:.*]] = affine_map<()[s0, s1] -> (s0 - s1)>
// CHECK: ptc.symbols = [{max = 5 : i64, min = 0 : i64, name = "u0"}, {max = 5 : i64, min = 0 : i64, name = "cotangent.0.0"}]
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[G:[^:]*]]: tensor<?xf32, #[[M]]> {ptc.input = "cotangent.0"}
// CHECK: prims.pad %[[G]], {{.*}}high = #[[REST]]
#n = affine_map<()[s0] -> (s0)>
module attributes {ptc.symbols = [{max = 5 : i64, min = 0 : i64, name = "u0"}]} {
  func.func @forward(%x: tensor<5xf32> {ptc.input = "x"}, %n: tensor<i64> {ptc.input = "n"})
      -> (tensor<?xf32, #n> {ptc.output = "y"}, tensor<i64> {ptc.defines = 0 : i64, ptc.most = 5 : i64}) {
    %y = prims.slice %x {starts = array<i64: 0>, limits = #n, strides = array<i64: 1>} : (tensor<5xf32>) -> tensor<?xf32, #n>
    return %y, %n : tensor<?xf32, #n>, tensor<i64>
  }
}

// -----

// Nothing flows through stop_gradient; a derivative that was said stands for the one that follows; neither stays.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[X:.*]]: tensor<3xf32> {ptc.input = "x"}, %[[G:.*]]: tensor<3xf32> {ptc.input = "cotangent.0"}
// CHECK: %[[E:.*]] = prims.exp %[[X]]
// CHECK: %[[Y:.*]] = prims.mul %[[E]], %[[X]]
// CHECK: %[[D:.*]] = prims.mul %[[G]], %[[X]]
// CHECK: %[[N:.*]] = prims.neg %[[D]]
// CHECK: return %[[Y]], %[[N]]
func.func @forward(%x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  %e = prims.exp %x : (tensor<3xf32>) -> tensor<3xf32>
  %v = prims.with_gradient %e, %x {
  ^bb0(%g: tensor<3xf32>):
    %n = prims.neg %g : (tensor<3xf32>) -> tensor<3xf32>
    prims.yield %n : tensor<3xf32>
  } : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %s = prims.stop_gradient %x : (tensor<3xf32>) -> tensor<3xf32>
  %y = prims.mul %v, %s : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// Nor in functions of control flow, through which nothing that is asked for flows.
// CHECK-LABEL: func.func private @same
// CHECK-NOT: prims.stop_gradient
// CHECK: return %arg0
// CHECK-LABEL: func.func @forward
func.func private @same(%x: tensor<3xi64>) -> tensor<3xi64> {
  %s = prims.stop_gradient %x : (tensor<3xi64>) -> tensor<3xi64>
  return %s : tensor<3xi64>
}
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %i: tensor<3xi64> {ptc.input = "i"}, %x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xi64> {ptc.output = "j"}, tensor<3xf32> {ptc.output = "y"}) {
  %j = control.if %p, @same, @same(%i) : (tensor<i1>, tensor<3xi64>) -> tensor<3xi64>
  return %j, %x : tensor<3xi64>, tensor<3xf32>
}

// -----

// Sizes are expressions: what a slice has left out is zeros, as many as there were.
// CHECK: #[[REST:.*]] = affine_map<()[s0] -> (s0 - 5)>
// CHECK-LABEL: func.func @forward
// CHECK: prims.pad %{{.*}}, %{{.*}} {high = #[[REST]], interior = array<i64: 1>, low = array<i64: 2>}
module attributes {ptc.symbols = [{name = "s0", min = 8 : i64, max = 64 : i64}]} {
  func.func @forward(%x: tensor<?xf32, affine_map<()[s0] -> (s0)>> {ptc.input = "x"}) -> (tensor<2xf32> {ptc.output = "y"}) {
    %y = prims.slice %x {starts = array<i64: 2>, limits = array<i64: 6>, strides = array<i64: 2>} : (tensor<?xf32, affine_map<()[s0] -> (s0)>>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
}

// -----

// The logarithm of 2 is not rounded to 16 bits; what is there exactly stays.
// CHECK-LABEL: func.func @forward(%{{.*}}: tensor<3xbf16>
// CHECK: prims.full {{.*}}value = 0.693147{{.*}} : f32
// CHECK: prims.full {{.*}}value = 2.000000e+00 : bf16
func.func @forward(%x: tensor<3xbf16> {ptc.input = "x"}) -> (tensor<3xbf16> {ptc.output = "y"}) {
  %r = prims.sqrt %x : (tensor<3xbf16>) -> tensor<3xbf16>
  %y = prims.exp2 %r : (tensor<3xbf16>) -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}

// -----

func.func @forward(%x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  %i = prims.bitcast %x {dtype = i32} : (tensor<3xf32>) -> tensor<3xi32>
  // A bit pattern is an integer, of which there is no derivative to ask for.
  %f = prims.bitcast %i {dtype = f32} : (tensor<3xi32>) -> tensor<3xf32>
  // expected-error @+1 {{prims.next_after has no derivative}}
  %n = prims.next_after %x, %f : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %n : tensor<3xf32>
}

// -----

func.func private @goes_on(%p: tensor<i1>, %x: tensor<3xf32>) -> tensor<i1> {
  return %p : tensor<i1>
}
func.func private @same(%p: tensor<i1>, %x: tensor<3xf32>) -> (tensor<i1>, tensor<3xf32>) {
  return %p, %x : tensor<i1>, tensor<3xf32>
}
func.func @forward(%p: tensor<i1> {ptc.input = "p"}, %x: tensor<3xf32> {ptc.input = "x"}) -> (tensor<3xf32> {ptc.output = "y"}) {
  // expected-error @+1 {{a derivative through a loop is not supported where sizes do not say how many steps it takes}}
  %q, %y = control.while @goes_on, @same(%p, %x) : (tensor<i1>, tensor<3xf32>) -> (tensor<i1>, tensor<3xf32>)
  return %y : tensor<3xf32>
}
